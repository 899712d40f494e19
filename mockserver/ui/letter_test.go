package ui_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestMessageStatements compares the page for messages in every state with the log of
// the interface.
func TestMessageStatements(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://app.test/*", 200)
	u.Script(mockserver.Stub{URL: "https://down.test/*", Answers: []mockserver.Answer{{Status: "503", Body: `{"error":"Error","message":"no\nway","stack":"Error: no way\n    at app.js"}`}}})
	u.Script(mockserver.Stub{URL: "https://gone.test/*", Answers: []mockserver.Answer{{Fail: "refused"}}})
	publish := func(header ...string) func(string) string {
		return func(url string) string { return u.Publish(url, []byte("x"), header...) }
	}
	ids := map[string]string{
		"delivered": publish()("https://app.test/a"),
		"delayed":   publish("Svc-Delay: 3d")("https://app.test/a"),
		"retrying":  publish("Svc-Retries: 5")("https://down.test/a"),
		"failed":    publish("Svc-Retries: 2")("https://down.test/a"),
		"unheard":   publish("Svc-Retries: 0")("https://gone.test/a"),
		"cancelled": publish("Svc-Delay: 2d")("https://app.test/a"),
	}
	request(t, u, http.MethodDelete, "/v2/messages/"+ids["cancelled"], "")
	u.Advance(20 * time.Minute)
	says := map[string]string{
		"delivered": "Attempt 1 200",
		"delayed":   "Why is it waiting? first attempt not due yet, until 5 Mar 09:00:00",
		"retrying":  "Why is it waiting? no (503), attempt 3 of 6; next attempt not due yet, until",
		"failed":    "Why did it fail? no (503), attempt 3 of 3 ended",
		"unheard":   "Why did it fail? no response: ",
		"cancelled": "Canceled",
	}
	for name, id := range ids {
		t.Run(name, func(t *testing.T) {
			log := fetch[struct {
				Events []struct {
					State            string
					Time             int64
					NextDeliveryTime int64
				}
			}](t, u, "/v2/events?messageId="+id).Events // newest first
			attempts, next := 0, int64(0)
			for _, e := range slices.Backward(log) {
				if next = e.NextDeliveryTime; e.State == "ACTIVE" {
					attempts++
				}
			}
			page := read(t, u, "ui/messages/"+id).at("view")
			row := read(t, u, "ui/messages").at("row-" + id)
			for where, part := range map[string]reading{"page": page.first("h1", ""), "list": row} {
				if got := part.first("", "state").text(); got != log[0].State {
					t.Errorf("the %s says %s, want %s", where, got, log[0].State)
				}
			}
			if got := len(page.all("li", "attempt")); got != attempts {
				t.Errorf("the page shows %d attempts, want %d", got, attempts)
			}
			if text := row.text(); !strings.Contains(text, fmt.Sprintf(" %d of ", attempts)) {
				t.Errorf("the list says %s, want %d attempts", text, attempts)
			}
			if want := next != 0 && slices.Contains([]string{"CREATED", "RETRY"}, log[0].State); want != slices.Contains(row.instants(t), next) {
				t.Errorf("the list says %s; the next attempt at %d should be there: %v", row.text(), next, want)
			}
			times := page.first("ol", "timeline").instants(t)
			if last := log[0].Time; !slices.Contains(times, last) {
				t.Errorf("the timeline: got %v, want it to contain %d", times, last)
			} else if got, want := slices.Min(times), log[len(log)-1].Time; got != want {
				t.Errorf("the start of the timeline: got %d, want %d", got, want)
			}
			text := page.text()
			if !strings.Contains(text, says[name]) {
				t.Errorf("the page: got %.600q, want it to contain %q", text, says[name])
			}
			expect.Lacks(t, "the reasons", page.first("ul", "reasons").text(), "app.js")
		})
	}
}

// TestStatementOfStackTraces compares the line above a stack trace with the answer: it is the
// innermost call in the endpoint's own code, and never one of the client library.
func TestStatementOfStackTraces(t *testing.T) {
	t.Parallel()
	const library = "    at LazyFunctionStep.getResultStep (file:///app/dist/index.mjs:1294:16)\\n    at async WorkflowContext.run (file:///app/dist/index.mjs:2904:12)"
	u := mockserver.RunT(t)
	for name, c := range map[string]struct{ calls, want string }{
		"own":     {library + "\\n    at async charge (file:///app/dist/index.mjs:9:3)", "at async charge (file:///app/dist/index.mjs:9:3)"},
		"foreign": {library, "Stack trace, without a call in the endpoint's own code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "https://" + name + ".test/"
			u.Script(mockserver.Stub{URL: url, Answers: []mockserver.Answer{{Status: "500", Body: `{"message":"no","stack":"Error: no\n` + c.calls + `"}`}}})
			id := u.Publish(url, nil, "Svc-Retries: 0")
			u.Settle()
			own := fetch[struct {
				Failure struct{ Stack struct{ Own string } }
			}](t, u, "/_understudy/messages/"+id).Failure.Stack.Own
			got := read(t, u, "ui/messages/"+id).first("details", "stack").first("summary", "").text()
			expect.Equal(t, "the line above the stack trace", got, c.want)
			if own != "" {
				expect.Equal(t, "the line of the API", own, got)
			}
		})
	}
}
