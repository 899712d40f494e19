//go:build browser

package ui_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestNavigation acts like a user: it publishes a message that fails, reads why, moves the
// clock until the message is in the DLQ, retries it, and pauses and resumes a key.
func TestNavigation(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 503, 503, 200)
	b := look(t, u, "")
	b.see("Send your first message.")

	b.click("Messages")
	b.see("No messages yet")
	b.click("Publish message")
	b.fill("Destination", "https://app.test/hook")
	b.fill("Headers", "Svc-Retries: 1\nSvc-Flow-Control-Key: customer-7\nSvc-Flow-Control-Value: parallelism=1")
	b.fill("Body", `{"order":7}`)
	b.clickIn("view", "Publish message")

	b.see("Why is it waiting?")
	b.see("503 response, attempt 1 of 2; next attempt not due yet")
	b.see("Attempt 1")
	b.see(`"order": 7`)
	b.click("Signature")
	b.see("Svc-Signature")
	b.see(`"alg": "HS256"`)
	b.see(`"iss"`)

	b.openClock()
	b.click("+1 m")
	b.state("FAILED")
	b.see("Why did it fail?")
	b.see("in the DLQ as")
	b.click("DLQ 1")
	b.lands("DLQ · ")
	b.see("app.test/hook")
	b.click("Retry")
	b.see("Retry: 1.")
	b.see("The DLQ is empty")
	b.click("Messages")
	b.state("DELIVERED")

	b.click("Flow control 1")
	b.clickIn("key-customer-7", "Pause")
	b.see("The key customer-7 was paused.")
	u.Publish("https://app.test/hook", []byte("held"), "Svc-Flow-Control-Key: customer-7", "Svc-Flow-Control-Value: parallelism=1")
	b.see("1 waiting") // without a reload
	b.click("1 waiting")
	b.state("CREATED")
	b.clickRow()
	b.see(`flow-control key "customer-7" is paused since`)
	b.click("Flow control 1")
	b.clickIn("key-customer-7", "Unpause")
	b.see("The key customer-7 was resumed.")
	b.see("0 waiting")
	if n := len(u.Deliveries()); n != 4 {
		t.Errorf("%d deliveries, want 4: two that failed, the retry, and the one that was held", n)
	}
}

// TestAskingInTheBrowser deletes all entries: it cancels the first confirmation and accepts
// the second.
func TestAskingInTheBrowser(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	for range 2 {
		u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
	}
	u.Settle()
	b := look(t, u, "ui/dlq")
	b.click("More")
	b.click("Delete all (2)")
	b.see("Delete 2 entries?")
	b.click("Cancel")
	b.see("Dead letter queue")
	b.click("More")
	b.click("Delete all (2)")
	b.see("Delete 2 entries?")
	b.click("Delete 2 entries")
	b.see("Delete: 2.")
	b.see("The DLQ is empty")
}

// TestRunOnThePage watches a run through its steps, makes it fail, and restarts it.
func TestRunOnThePage(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	w := runOrders(t, u)
	w.broken.Store(true)
	b := look(t, u, "ui/runs")
	b.see("No runs yet")
	w.trigger("wfr_order-7")
	b.see("wfr_order-7")
	b.click("wfr_order-7")
	b.see("check the order")
	b.see("cool down")
	b.see("What does it wait for?")
	b.click("+1 h")
	b.see("charge")
	b.see("reserve")
	b.see("payment")
	b.click("Notify paid-wfr_order-7…")
	b.fill("Data", `{"paid":true}`)
	b.click("Notify")
	b.see("received paid-wfr_order-7")
	b.openClock()
	b.click("Run until idle")
	b.state("RUN_FAILED")
	b.click("More")
	b.see("Open DLQ entry")
	b.shoot("run-failed")

	w.broken.Store(false)
	b.click("Resume from print the label")
	b.see("continues at the step that failed")
	b.click("Runs")
	b.state("RUN_SUCCESS")
	b.clickRow()
	b.click("Input and output")
	b.see(`"shipped"`)
	b.shoot("run")
	whole(t, u, "wfr_order-7")
}

// whole checks that the time axis of an ended run has no overlaps and no open ends.
func whole(t *testing.T, u *mockserver.TestServer, id string) {
	t.Helper()
	var trace struct {
		Row   struct{ WorkflowRunCreatedAt int64 }
		Spans []struct {
			Step  struct{ StepName string }
			From  int64
			Parts []struct {
				Kind     string
				From, To int64
			}
		}
	}
	if err := json.Unmarshal([]byte(request(t, u, http.MethodGet, "/_understudy/runs/"+id, "")), &trace); err != nil || len(trace.Spans) < 7 {
		t.Fatalf("%d spans, %v", len(trace.Spans), err)
	}
	for _, s := range trace.Spans {
		at := trace.Row.WorkflowRunCreatedAt
		if s.From < at {
			t.Errorf("%s begins at %d, before its run at %d", s.Step.StepName, s.From, at)
		}
		for _, p := range s.Parts {
			if p.From < at {
				t.Errorf("a part of %s starts: got %d, want at least %d: %+v", s.Step.StepName, p.From, at, s.Parts)
				break
			}
			if p.To < p.From {
				t.Errorf("a part of %s ends: got %d, want at least %d: %+v", s.Step.StepName, p.To, p.From, s.Parts)
				break
			}
			at = p.To
		}
	}
}

// TestKeys uses the page without a mouse.
func TestKeys(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	u.Publish("https://app.test/one", nil)
	u.Publish("https://app.test/two", nil)
	u.Settle()
	b := look(t, u, "")
	b.keys("gm")
	b.lands("Messages · Understudy")
	b.keys("jj")
	b.keys("\r")
	b.see("Attempts") // of the first message
	b.keys("gm")
	b.lands("Messages · Understudy")
	b.keys("/")
	b.holds("the search has the focus", `document.activeElement.closest("form.search") !== null`)
	b.do("open a view, and do not wait for its scripts", chromedp.Navigate(b.url+"/_understudy/ui/messages"))
	b.keys("/")
	expect.Equal(t, "what has the focus", ask[string](b, `document.activeElement.id`), "search")
	b.keys("gd") // typed into the field
	b.holds("nothing was opened", `document.activeElement.value.endsWith("gd") && location.pathname.endsWith("/messages")`)
	b.do("leave the field", chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	b.keys("?")
	b.holds("the list of keys is open", `document.querySelector("#keys").open`)
	b.keys("\r") // on its only button
	b.holds("it is closed", `!document.querySelector("#keys").open`)
}

// TestFollowing checks that the page updates without a reload, does not disturb the user,
// and stops on request.
func TestFollowing(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	b := look(t, u, "ui/messages")
	b.click("Publish message")
	b.fill("Destination", "https://app.test/half-writ")
	u.Publish("https://app.test/first", nil)
	b.see("app.test/first")
	if got := ask[string](b, `document.activeElement.value`); got != "https://app.test/half-writ" {
		t.Errorf("the field with user input has %q", got)
	}
	b.do("an update that takes long", evaluate(`follower.restFactor = 1e9; follower.rested = 0; follower.refresh()`))
	b.holds("it is over", `!follower.busy && follower.rested > 0`)
	if rest := ask[float64](b, `follower.resting()`); rest > 1000 {
		t.Errorf("the pause after an update: got %v ms, want at most a second", rest)
	}
	b.do("follow at once", evaluate(`follower.restFactor = 0; follower.rested = 0`))
	b.click("Live: pause updates")
	b.see("Paused")
	u.Publish("https://app.test/second", nil)
	u.Settle()
	if ask[bool](b, `document.body.innerText.includes("app.test/second")`) {
		t.Error("a paused page continues")
	}
	b.click("Paused: resume updates")
	b.see("app.test/second")
	_ = u.Close() // the second call, in the cleanup, does nothing
	b.see("Server lost")
	b.theme("dark")
	dark := ask[string](b, `getComputedStyle(document.body).backgroundColor`)
	b.click("Use light theme")
	if light := ask[string](b, `getComputedStyle(document.body).backgroundColor`); light == dark {
		t.Errorf("the theme stays %s", dark)
	}
	b.do("forget the theme", chromedp.Evaluate[chromedp.Void](`localStorage.clear(); sessionStorage.clear()`))
}

// TestFormsInTheBrowser fills a form during updates, reads the error at the refused field,
// corrects it, and finds the form empty after that.
func TestFormsInTheBrowser(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	b := look(t, u, "ui/schedules")
	b.fill("Destination", "https://app.test/tick")
	b.fill("Cron", "61 * * * *")
	b.fill("Id", "mine")
	request(t, u, http.MethodPost, "/v2/schedules/https://app.test/other", "", "Svc-Cron", "0 9 * * *", "Svc-Schedule-Id", "somebody-elses")
	b.see("somebody-elses")
	const values = `[...document.querySelectorAll("main > form input:not([type=hidden])")].map((field) => field.value).join("|")`
	if got := ask[string](b, values); got != "https://app.test/tick|61 * * * *|mine|" {
		t.Errorf("the form after an update: got %s", got)
	}
	b.click("Create schedule")
	b.see(`Cron: invalid value "61 * * * *": minute "61": must be`)
	b.holds("the error is at the field", `document.activeElement.name === "cron" && document.activeElement.validationMessage.startsWith("invalid value \"61")`)
	if got := ask[string](b, values); got != "https://app.test/tick|61 * * * *|mine|" {
		t.Errorf("the form after an error: got %s", got)
	}
	b.fill("Cron", "*/5 * * * *")
	b.holds("the error is gone after a change", `document.querySelector("main > form").checkValidity()`)
	b.click("Create schedule")
	b.see("every 5 minutes")
	b.holds("the form is empty", values+` === "|||"`)
}
