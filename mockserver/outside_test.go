package mockserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

// callOutside calls an outside service as an application does.
func callOutside(t *testing.T, url, body string) (int, string, error) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	got, err := io.ReadAll(r.Body)
	return r.StatusCode, string(got), err
}

func TestAnOutsideServiceIsAnsweredAndRecorded(t *testing.T) {
	u := mockserver.RunT(t)
	payments := u.Outside("payments")
	payments.Answer("/charges/*", mockserver.Answer{Status: "201", Body: `{"id":"ch_$1"}`}, mockserver.Answer{Fail: "reset"})
	if status, body, err := callOutside(t, payments.URL()+"/charges/7", `{"order":1}`); status != 201 || body != `{"id":"ch_7"}` || err != nil {
		t.Errorf("first call: %d %s %v", status, body, err)
	}
	if status, _, err := callOutside(t, payments.URL()+"/charges/7", `{"order":1}`); err == nil {
		t.Errorf("a reset was answered %d", status)
	}
	if status, body, _ := callOutside(t, payments.URL()+"/refunds", `{}`); status != 200 || body != "{}" {
		t.Errorf("without a stub: %d %s", status, body)
	}
	calls := payments.Calls()
	if len(calls) != 3 || string(calls[0].Request.Body) != `{"order":1}` || calls[0].Response.Status != 201 || calls[1].Response.Status != 0 {
		t.Errorf("calls: %+v", calls)
	}
	if n := len(u.Outside("mail").Calls()); n != 0 {
		t.Errorf("another service has %d calls", n)
	}
}

func TestAnOutsideServiceKeepsTheNamesInItsAnswer(t *testing.T) {
	u := mockserver.RunT(t)
	u.Outside("mail").Answer("/x", mockserver.Answer{Headers: map[string]string{"Svc-Id": "1"}, Body: `{"Svc-Id":"2","authorization":"Bearer abc"}`})
	if _, body, _ := callOutside(t, u.Outside("mail").URL()+"/x", ""); body != `{"Svc-Id":"2","authorization":"Bearer abc"}` {
		t.Errorf("body: %s", body)
	}
}
