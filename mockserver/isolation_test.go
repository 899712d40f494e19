package mockserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// A thousand accounts on one server: each has a clock, a journal, stubs and faults
// of its own, acting on one leaves the others, and one that does nothing costs
// next to nothing.
func TestAThousandAccountsStayApart(t *testing.T) {
	const accounts = 1000
	u := mockserver.RunT(t, mockserver.Config{AnyAccount: true})
	call := func(method, path, token, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		u.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return w
	}
	call("GET", "/v2/keys", "warm", "")
	before := heap()
	for i := range accounts {
		call("GET", "/v2/keys", fmt.Sprintf("token%d", i), "")
	}
	if each := (heap() - before) / accounts; each > 20<<10 {
		t.Errorf("an idle account costs %d bytes; must be at most 20 KiB", each)
	}
	for i := range accounts {
		id := fmt.Sprintf("own%d", i)
		answer := call("PUT", "/_understudy/accounts/"+id, "", "{}").Body.String()
		_, rest, _ := strings.Cut(answer, `"token":"`)
		token, _, _ := strings.Cut(rest, `"`)
		call("PUT", "/_understudy/stubs?account="+id, "", fmt.Sprintf(`[{"url":"https://app.test/*","answers":[{"status":200,"body":"%s"}]}]`, id))
		call("POST", "/v2/publish/https://app.test/", token, id)
		if i%2 == 0 {
			call("POST", "/_understudy/clock/advance?account="+id, "", `{"by":"1h"}`)
		}
	}
	call("POST", "/_understudy/settle?account=*", "", `{"timeout":"60s"}`)
	call("POST", "/_understudy/reset?account=own1", "", "")
	for i := range accounts {
		id := fmt.Sprintf("own%d", i)
		journal := call("GET", "/_understudy/deliveries?account="+id, "", "").Body.String()
		switch n := strings.Count(journal, `"messageId"`); {
		case i == 1 && n != 0:
			t.Errorf("%s was reset and has %d deliveries", id, n)
		case i != 1 && (n != 1 || !strings.Contains(journal, `"body":"`+id+`"`)):
			t.Fatalf("%s has %d deliveries: %s", id, n, journal)
		}
	}
	if a, b := clockOf(call("GET", "/_understudy/clock?account=own2", "", "")), clockOf(call("GET", "/_understudy/clock?account=own3", "", "")); a.Sub(b) < 59*time.Minute {
		t.Errorf("the clocks of two accounts: %s and %s", a, b)
	}
}

func clockOf(w *httptest.ResponseRecorder) time.Time {
	var mode string
	var ms int64
	text := strings.NewReplacer(`"`, "", "{", "", "}", "", ",", " ", ":", " ").Replace(w.Body.String())
	_, _ = fmt.Sscanf(text, "mode %s now %d", &mode, &ms)
	return time.UnixMilli(ms)
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
