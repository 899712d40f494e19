//go:build browser

package ui_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

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
