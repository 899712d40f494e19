package ui_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/mockserver"
)

// TestNavigation does what a person does: publish, watch it fail, see why, move the
// clock, see it reach the DLQ, restart it, pause and resume a key.
func TestNavigation(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 503, 503, 200)
	b := look(t, u, "")
	b.see("Nothing has happened yet")

	b.click("Messages")
	b.see("No message yet")
	b.click("Publish a message")
	b.fill("Destination", "https://app.test/hook")
	b.fill("Headers", "Svc-Retries: 1\nSvc-Flow-Control-Key: customer-7\nSvc-Flow-Control-Value: parallelism=1")
	b.fill("Body", `{"order":7}`)
	b.click("Publish")

	b.see("Why is it waiting?")
	b.see("attempt 1 of 2 was answered 503; the next attempt is not due yet")
	b.see("Attempt 1")
	b.click("Request and response")
	b.see("Svc-Signature")
	b.see(`"order": 7`)
	b.click("Signature")
	b.see(`"alg": "HS256"`)
	b.see(`"iss"`)

	b.click("+1 m")
	b.state("FAILED")
	b.see("Why did it fail?")
	b.see("kept as DLQ entry")
	b.click("DLQ 1")
	b.see("https://app.test/hook")
	b.click("Retry")
	b.see("is delivered again")
	b.see("Nothing has failed for good")
	b.click("Messages")
	b.state("DELIVERED")

	b.click("Flow control 1")
	b.clickIn("key-customer-7", "Pause")
	b.see("The key customer-7 is paused.")
	u.Publish("https://app.test/hook", []byte("held"), "Svc-Flow-Control-Key: customer-7", "Svc-Flow-Control-Value: parallelism=1")
	b.see("1 waiting") // without a reload
	b.click("1 waiting")
	b.state("CREATED")
	b.do("open the first row", clickRow())
	b.see(`flow-control key "customer-7" is paused since`)
	b.click("Flow control 1")
	b.clickIn("key-customer-7", "Resume")
	b.see("The key customer-7 goes on.")
	b.see("0 waiting")
	if n := len(u.Deliveries()); n != 4 {
		t.Errorf("%d deliveries, want 4: two that failed, the retry, and the one that was held", n)
	}
}

// TestAskingInTheBrowser deletes all entries, after the page has asked and somebody
// has thought again.
func TestAskingInTheBrowser(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	for range 2 {
		u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
	}
	u.Settle()
	b := look(t, u, "ui/dlq")
	b.click("Delete all (2)")
	b.see("Delete 2 entries of the DLQ?")
	b.click("Cancel")
	b.see("Dead letter queue")
	b.click("Delete all (2)")
	b.see("Delete 2 entries of the DLQ?")
	b.click("Delete 2 entries")
	b.see("Deleted: 2.")
	b.see("Nothing has failed for good")
}

// TestRunOnThePage follows a run through its steps, lets it fail, and restarts it.
func TestRunOnThePage(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	w := runOrders(t, u)
	w.broken.Store(true)
	b := look(t, u, "ui/runs")
	b.see("No workflow has run yet")
	w.trigger("wfr_order-7")
	b.see("wfr_order-7")
	b.click("wfr_order-7")
	b.see("check the order")
	b.see("cool down")
	b.see("What does it wait for?")
	b.click("+1 h")
	b.see("charge")
	b.see("reserve")
	b.see("waits for the event")
	b.fill("Data", `{"paid":true}`)
	b.click("Notify")
	b.see("was told of paid-wfr_order-7")
	b.click("Until idle")
	b.state("RUN_FAILED")
	b.see("Open the DLQ entry")
	b.shoot("run-failed")

	w.broken.Store(false)
	b.click("Resume")
	b.see("goes on from the step that failed")
	b.click("Runs")
	b.state("RUN_SUCCESS")
	b.do("open the first row", clickRow())
	b.see(`"shipped"`)
	b.shoot("run")
	whole(t, u, "wfr_order-7")
}

// whole holds the time axis of an ended run to be without overlaps and open ends.
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

// TestKeys goes through the page without a mouse.
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
	b.see("Timeline") // of the first message
	b.keys("gm")
	b.lands("Messages · Understudy")
	b.keys("/")
	b.holds("the filter has the focus", `document.activeElement.closest(".filter") !== null`)
	b.keys("gd") // is typed into the field
	b.holds("nothing was opened", `document.activeElement.value.endsWith("gd") && location.pathname.endsWith("/messages")`)
	b.do("leave the field", chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	b.keys("?")
	b.holds("the list of keys is open", `document.querySelector("#keys").open`)
	b.keys("\r") // on its only button
	b.holds("it is closed", `!document.querySelector("#keys").open`)
}

// TestFollowing sees what happens without a reload, leaves alone what somebody
// does meanwhile, and stops when it is asked to.
func TestFollowing(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	b := look(t, u, "ui/messages")
	b.click("Publish a message")
	b.fill("Destination", "https://app.test/half-writ")
	u.Publish("https://app.test/first", nil)
	b.see("https://app.test/first")
	if got := ask[string](b, `document.activeElement.value`); got != "https://app.test/half-writ" {
		t.Errorf("the field that somebody writes in has %q", got)
	}
	b.click("Live")
	b.see("Paused")
	u.Publish("https://app.test/second", nil)
	u.Settle()
	if ask[bool](b, `document.body.innerText.includes("https://app.test/second")`) {
		t.Error("a paused page goes on")
	}
	b.click("Paused")
	b.see("https://app.test/second")
	_ = u.Close() // once more by the cleanup, which then has nothing to do
	b.see("Server lost")
	b.theme("dark")
	dark := ask[string](b, `getComputedStyle(document.body).backgroundColor`)
	b.click("Theme")
	if light := ask[string](b, `getComputedStyle(document.body).backgroundColor`); light == dark {
		t.Errorf("the theme stays %s", dark)
	}
	b.do("forget the theme", chromedp.Evaluate[chromedp.Void](`localStorage.clear(); sessionStorage.clear()`))
}
