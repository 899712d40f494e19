package ui_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestDoing triggers a run and runs a schedule with the forms of the page.
func TestDoing(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://app.test/*", 200)
	t.Run("trigger a run", func(t *testing.T) {
		page := press(t, u, "run.trigger", "destination", "https://app.test/wf", "body", `{"order":7}`, "headers", "Svc-Workflow-RunId: wfr_order-7\nSvc-Label: shop")
		expect.Contains(t, "page of the run", page, "wfr_order-7")
		expect.Contains(t, "page of the run", page, "https://app.test/wf")
		expect.Contains(t, "page without a URL", press(t, u, "run.trigger", "destination", ""), "destination is missing")
	})
	t.Run("run a schedule", func(t *testing.T) {
		page := press(t, u, "schedule.put", "back", "/_understudy/ui/schedules", "destination", "https://app.test/tick", "cron", "CRON_TZ=Europe/Berlin 30 9 * * 1-5", "id", "work")
		for _, text := range []string{"at 09:30, Monday through Friday", "Europe/Berlin", "Tue 3 Mar 2026 09:30 CET", "Wed 4 Mar 2026 09:30 CET", "Thu 5 Mar 2026 09:30 CET", "Run now"} {
			expect.Contains(t, "page of schedules", page, text)
		}
		page = press(t, u, "schedule.run", "id", "work")
		expect.Contains(t, "page of the message", page, "The schedule work was run.")
		expect.Contains(t, "page of the message", page, "https://app.test/tick")
	})
}

func TestRulesAreShownInWords(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	request(t, u, http.MethodPut, "/_understudy/stubs", `[{"url":"https://app.test/*","method":"PUT","perMessage":true,"answers":[{"status":503,"delay":"3s"},{"fail":"refused"},{"status":200,"body":"ok"}]}]`)
	request(t, u, http.MethodPut, "/_understudy/faults", `[{"on":"delivery","url":"https://slow.test/*","delay":"30s","times":2}]`)
	page := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(request(t, u, http.MethodGet, "/_understudy/ui/stubs", ""), " ")), " ")
	expect.Contains(t, "page", page, "method PUT url https://app.test/* answers 503 delay 3s, then refused, then 200 body ok perMessage yes")
	expect.Contains(t, "page", page, "on delivery url https://slow.test/* delay 30s times 2")
}

// TestMovingTheClock compares what the page says after a move of the clock with the API: what
// the clock has reached, and why it stopped.
func TestMovingTheClock(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://app.test/*", 200)
	request(t, u, http.MethodPost, "/v2/schedules/https://app.test/tick", "", "Svc-Cron", "* * * * *")
	said := func(fields ...string) string {
		return parsed(t, press(t, u, "clock.advance", fields...)).at("said").text()
	}
	counts := regexp.MustCompile(`, 0 failed, 0 runs woke`) // of servers that count them
	expect.Equal(t, "message after a move", counts.ReplaceAllString(said("by", "1h"), ""), "1 h later: 60 attempts; next timer in 1 m. Show changes Failed")
	expect.Equal(t, "message after a move to the next timer", counts.ReplaceAllString(said("until", "next"), ""), "1 m later: 1 attempt; next timer in 1 m. Show changes Failed")
	text := said("by", "365d", "timeout", "200ms")
	now := time.UnixMilli(fetch[struct{ Now int64 }](t, u, "/_understudy/clock").Now).UTC()
	expect.Contains(t, "message after the time limit", text, "timeout: 200ms of real time passed: the clock has reached ")
	expect.Contains(t, "message after the time limit", text, now.Format("15:04:05"))
}

// TestTheFilledButton opens things that wait: the filled button does what the first reason needs, as
// the API names it, and pressing it ends the reason.
func TestTheFilledButton(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	u.Stub("https://app.test/*", 200)
	request(t, u, http.MethodPost, "/v2/schedules/https://app.test/tick", "", "Svc-Cron", "* * * * *") // the next timer of the account
	w.trigger("sleeps")
	request(t, u, http.MethodPost, "/v2/flowControl/shop/pause", "")
	held := u.Publish("https://app.test/held", nil, "Svc-Flow-Control-Key: shop", "Svc-Flow-Control-Value: parallelism=1")
	w.send(http.MethodPost, "/v2/queues", map[string]any{"queueName": "mails", "parallelism": 1})
	request(t, u, http.MethodPost, "/v2/queues/mails/pause", "")
	request(t, u, http.MethodPost, "/v2/enqueue/mails/https://app.test/mail", "")
	u.Settle()
	queued := fetch[struct{ Messages []struct{ MessageID string } }](t, u, "/_understudy/messages?queueName=mails").Messages[0].MessageID
	for _, c := range []struct{ path, id, button, action, command string }{
		{"ui/messages/", held, "Unpause shop", "flow.resume", "understudy ctl keys resume shop"},
		{"ui/messages/", queued, "Unpause mails", "queue.resume", "understudy ctl queues resume mails"},
		{"ui/runs/", "sleeps", "Advance to its wake-up (1 h)", "clock.advance", "understudy ctl advance 1h"},
		{"ui/runs/", "sleeps", "Notify paid-sleeps…", "run.notify", "understudy ctl notify paid-sleeps"},
	} {
		t.Run(c.button, func(t *testing.T) {
			type reason struct {
				Reason string
				Next   struct{ Command, Subject string }
			}
			reasons := func() []reason {
				return fetch[struct{ Reasons []reason }](t, u, "/_understudy/explain/"+c.id).Reasons
			}
			before := reasons()[0]
			expect.Equal(t, "the next step of the API", before.Next.Command, c.command)
			actions := read(t, u, c.path+c.id).at("view").first("", "actions")
			filled := actions.first("button", "main")
			if filled.Node == nil {
				filled = actions.first("summary", "main")
			}
			expect.Equal(t, "the filled button", filled.text(), c.button)
			press(t, u, c.action, "key", "shop", "name", "mails", "by", before.Next.Subject, "id", c.id, "event", before.Next.Subject)
			u.Settle()
			for _, r := range reasons() {
				expect.True(t, "the reason has ended: "+before.Reason, r.Reason != before.Reason)
			}
		})
	}
}

// TestAgainWithChanges retries, restarts and resumes with other options, which the new message or run
// has: those of one entry, and of several.
func TestAgainWithChanges(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"dlq.retry", "dlq.retrySome", "dlq.restart", "dlq.restartSome", "dlq.resume", "dlq.resumeSome"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
			w := runOrders(t, u)
			failed(w, "wfr_old")
			u.Stub("https://down.test/*", 503)
			u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
			u.Settle()
			source, list := "workflow", "runs"
			if strings.HasPrefix(action, "dlq.retry") {
				source, list = "message", "messages"
			}
			id := fetch[struct{ Entries []row }](t, u, "/_understudy/dlq?source="+source).Entries[0].DlqID
			fields := []string{"id", id, "pick", id, "sure", "yes", "label", "again"}
			expect.Contains(t, "answer to an invalid change", press(t, u, action, append(fields, "retries", "many")...), `invalid value "many"`)
			press(t, u, action, append(fields, "retries", "7")...)
			found := fetch[struct{ Messages, Runs []row }](t, u, "/_understudy/"+list+"?label=again")
			expect.Equal(t, "what has the new label", len(found.Messages)+len(found.Runs), 1)
		})
	}
}
