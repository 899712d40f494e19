package mockserver_test

import (
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// logBook keeps log lines, which are JSON.
type logBook struct{ text lines }

// lines are those with the text, as JSON.
func (b *logBook) lines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	for line := range strings.Lines(b.text.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if message, _ := one["msg"].(string); strings.Contains(message, text) {
			list = append(list, one)
		}
	}
	return list
}

// want fails the test unless exactly one line has the text and the attributes.
func (b *logBook) want(t *testing.T, text string, attrs map[string]any) {
	t.Helper()
	lines := b.lines(t, text)
	if len(lines) != 1 {
		t.Fatalf("%d lines with %q, want 1: %v", len(lines), text, lines)
	}
	for name, want := range attrs {
		if got := lines[0][name]; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func withLog(t *testing.T) (*mockserver.TestServer, *client, *logBook) {
	t.Helper()
	book := &logBook{}
	u := mockserver.RunT(t, mockserver.Config{Log: slog.New(slog.NewJSONHandler(&book.text, nil))})
	return u, newClient(t, u), book
}

func TestLogOfFailures(t *testing.T) {
	t.Parallel()
	t.Run("an attempt that is retried", func(t *testing.T) {
		t.Parallel()
		u, _, book := withLog(t)
		u.Script(mockserver.Stub{URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "503", Body: "busy\nsecond line"}}})
		id := u.Publish("https://app.test/hook", nil)
		u.Settle()
		book.want(t, "attempt failed", map[string]any{
			"level": "INFO", "why": "busy (503), attempt 1 of 4", "url": "https://app.test/hook", "message": id,
			"in": float64(12 * time.Second), "page": u.URL() + "/_understudy/ui/messages/" + id,
		})
	})
	t.Run("a message in the DLQ", func(t *testing.T) {
		t.Parallel()
		u, c, book := withLog(t)
		u.Stub("https://app.test/*", 500)
		id := u.Publish("https://app.test/hook", nil, "Svc-Retries: 0")
		u.Settle()
		entry := c.do("GET", "/v2/dlq", "").ok()
		book.want(t, "message failed, in the DLQ", map[string]any{"level": "WARN", "why": "500 response, attempt 1 of 1", "message": id})
		if dlq := book.lines(t, "message failed, in the DLQ")[0]["dlq"]; dlq == nil || !strings.Contains(string(entry.raw), dlq.(string)) {
			t.Errorf("dlq %v, entry %s", dlq, entry.raw)
		}
	})
	t.Run("a failed run", func(t *testing.T) {
		t.Parallel()
		u, c, book := withLog(t)
		u.Stub("https://app.test/*", 500)
		run := c.do("POST", "/v2/trigger/https://app.test/flow", "{}", "Svc-Retries: 0").ok().text("workflowRunId")
		u.Settle()
		book.want(t, "run failed, in the DLQ", map[string]any{"level": "WARN", "run": run, "page": u.URL() + "/_understudy/ui/runs/" + run})
	})
	t.Run("without the password of the URL", func(t *testing.T) {
		t.Parallel()
		u, _, book := withLog(t)
		u.Stub("https://*", 500)
		u.Publish("https://user:planted@app.test/hook", nil, "Svc-Retries: 0")
		u.Settle()
		if text := book.lines(t, "DLQ")[0]["url"]; strings.Contains(text.(string), "planted") {
			t.Errorf("url %v", text)
		}
	})
}

func TestLogOfRequests(t *testing.T) {
	t.Parallel()
	u, c, book := withLog(t)
	u.Stub("https://app.test/*", 200)
	c.do("POST", "/v2/publish/https://app.test/", "", "Svc-Retries: many")
	c.do("POST", "/v2/publish/https://app.test/", "", "Svc-Dely: 1h").ok()
	book.want(t, "request refused", map[string]any{"level": "WARN", "status": float64(http.StatusBadRequest), "path": "/v2/publish/https://app.test/", "page": u.URL() + "/_understudy/ui/requests"})
	expect.Contains(t, "reason", book.lines(t, "request refused")[0]["reason"].(string), "Svc-Retries")
	book.want(t, "with a warning", map[string]any{"level": "WARN"})
	t.Run("at the time of the account, those of the control API included", func(t *testing.T) {
		u, c, book := withLog(t)
		u.Advance(24 * time.Hour)
		c.do("POST", "/v2/publish/https://app.test/", "", "Svc-Retries: many")
		c.do("GET", "/_understudy/runs?state=none", "")
		now := u.Now().UTC().Format(time.RFC3339Nano)
		for _, line := range book.lines(t, "request refused") {
			if line["time"] != now {
				t.Errorf("time %v, want %v", line["time"], now)
			}
		}
	})
	t.Run("without those of the page", func(t *testing.T) {
		_, c, book := withLog(t)
		for _, path := range []string{"", "ui/messages", "ui/messages/none", "ui/runs/none", "ui/keys"} {
			c.do("GET", "/_understudy/"+path, "")
		}
		if got := book.lines(t, "request refused"); len(got) != 0 {
			t.Errorf("%d lines, the first %v; want none, because the page shows what its calls return", len(got), got[0])
		}
	})
}

// A client that speaks TLS to a plain port is named.
func TestLogOfTLSOnAPlainPort(t *testing.T) {
	t.Parallel()
	u, _, book := withLog(t)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(u.URL(), "http://"), &tls.Config{ServerName: "localhost"})
	if err == nil {
		_ = conn.Close()
		t.Fatal("the handshake succeeded")
	}
	book.want(t, "speaks TLS to this port, which speaks plain HTTP: use http:// in place of https://", map[string]any{"level": "WARN"})
}

// An event that nobody waits for names those that are waited for, where clients
// do not look.
func TestNotifyOfAnUnknownEvent(t *testing.T) {
	t.Parallel()
	u, c, book := withLog(t)
	u.Script(mockserver.Stub{URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "200", Headers: map[string]string{published.HeaderPrefix + "Workflow-Sdk": "v1.0.0"}}}})
	run := c.do("POST", "/v2/trigger/https://app.test/flow", "{}").ok().text("workflowRunId")
	u.Settle()
	for name, row := range map[string]struct{ path, want string }{
		"nobody waits":   {"/v2/notify/shiped", `event "shiped": no run waits for it; no run waits for any event`},
		"an unknown run": {"/v2/notify/wfr_x/shiped", `event "shiped": no run waits for it, and run "wfr_x" has ended or is unknown; no run waits for any event`},
	} {
		t.Run(name, func(t *testing.T) {
			if a := c.do("POST", row.path, "data").ok(); a.header.Get(published.HeaderPrefix+"Warning") != row.want || string(a.raw) != "[]" {
				t.Errorf("%q %s", a.header.Get(published.HeaderPrefix+"Warning"), a.raw)
			}
		})
	}
	c.do("POST", "/v2/wait/shipped", `{"url":"https://app.test/flow","timeout":"1d","step":{"stepId":1,"stepName":"wait","stepType":"Wait","concurrent":1}}`, "Svc-Workflow-RunId: "+run).ok()
	for name, row := range map[string]struct{ path, want string }{
		"another event":                       {"/v2/notify/shiped", `event "shiped": no run waits for it; events that runs wait for: "shipped"`},
		"another event of a run":              {"/v2/notify/" + run + "/paid", `event "paid": the run does not wait for it; it is kept for a later wait; events that runs wait for: "shipped"`},
		"an id that no header takes as it is": {"/v2/notify/a%0Ab%C3%A9", `event "a\nb\u00e9": no run waits for it; events that runs wait for: "shipped"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.do("POST", row.path, "data").ok().header.Get(published.HeaderPrefix + "Warning"); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
	t.Run("in the log", func(t *testing.T) {
		if !slices.ContainsFunc(book.lines(t, "with a warning"), func(l map[string]any) bool { return strings.Contains(l["reason"].(string), `wait for: "shipped"`) }) {
			t.Error("not logged")
		}
	})
	t.Run("an event that is waited for has no warning", func(t *testing.T) {
		if a := c.do("POST", "/v2/notify/shipped", "data").ok(); a.header.Get("Svc-Warning") != "" || !strings.Contains(string(a.raw), run) {
			t.Errorf("%q %s", a.header.Get("Svc-Warning"), a.raw)
		}
	})
}
