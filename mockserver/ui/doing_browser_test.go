//go:build browser

package ui_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestBulk checks that a bulk button shows the number of entries, asks for confirmation,
// applies to them, and offers to undo that.
func TestBulk(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	for range 60 {
		u.Publish("https://down.test/mail", nil, "Svc-Retries: 0", "Svc-Label: mail")
		u.Publish("https://app.test/later", nil, "Svc-Delay: 1h", "Svc-Label: mail")
	}
	u.Publish("https://down.test/other", nil, "Svc-Retries: 0")
	u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
	u.Settle()
	for _, row := range []struct{ action, label, ask, said, undo string }{
		{"message.cancelSome", "mail", "Cancel 60 messages that the filters match?", "Cancel: 60.", "Undo cancel messages"},
		{"message.cancelSome", "", "Cancel 1 message?", "Cancel: 1.", "Undo cancel messages"},
		{"message.cancelSome", "", "No messages match.", "", ""},
		{"dlq.retrySome", "other", "No messages match.", "", ""},
		{"dlq.deleteSome", "mail", "Delete 60 entries that the filters match?", "Delete: 60.", "Undo delete DLQ entries"},
		{"dlq.retrySome", "", "Retry 1 message?", "Retry: 1.", "Undo retry messages"},
		{"dlq.resumeSome", "", "No runs match.", "", ""},
	} {
		expect.Contains(t, "question of "+row.action, press(t, u, row.action, "label", row.label), row.ask)
		if row.said != "" {
			page := press(t, u, row.action, "label", row.label, "sure", "yes")
			expect.Contains(t, "page after "+row.action, page, row.said)
			expect.Contains(t, "page after "+row.action, page, row.undo)
		}
	}
}

// TestProgressOfTheClockInTheBrowser presses a button that moves the clock for long.
func TestProgressOfTheClockInTheBrowser(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://app.test/*", 200)
	request(t, u, http.MethodPost, "/v2/schedules/https://app.test/tick", "", "Svc-Cron", "* * * * *")
	b := look(t, u, "")
	b.holds("a year is typed", `(document.querySelector("form [name=by]:not([type=hidden])").value = "365d") === "365d"`)
	b.openClock()
	b.click("Move")
	b.see("attempts so far")
	b.holds("the browser waits longer than the server", `htmx.config.defaultTimeout > 60_000`)
	b.holds("the clock has moved", `/has reached 202[67]-.*Z; attempts so far: [1-9]/.test(document.querySelector("#said").textContent)`)
}
