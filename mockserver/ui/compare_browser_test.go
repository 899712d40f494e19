//go:build browser

package ui_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestCompareInTheBrowser compares two attempts with keys.
func TestCompareInTheBrowser(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	failed(w, "wfr_old")
	failing(t, u)
	b := look(t, u, "ui/messages?state=FAILED&url=https://printer.test")
	b.keys("j\r")
	b.see("at print (/app/src/label.ts:9:3)")
	b.settled()
	b.keys("c")
	b.see("Compare attempts")
	b.keys("c")
	b.holds("the first attempt is chosen by keys", `document.activeElement.name === "first"`)
	b.keys(kb.ArrowUp)
	b.holds("the choice follows the keys", `document.activeElement.value === "1"`)
	u.Publish("https://app.test/x", nil, "Svc-Delay: 1h") // the page follows
	b.holds("the page has followed", `document.querySelector("nav a[data-key=m]").innerText.includes("1")`)
	b.keys("\t\t\r")
	b.holds("the chosen attempts are compared", `location.search.includes("first=1")`)
	b.see("out of ink")
	expect.Contains(t, "address of the comparison", ask[string](b, `location.search`), "first=1&second=3")
	b.click("Attempt 3")
	b.holds("the attempt is shown", `document.getElementById("attempt-3")?.ariaCurrent === "true"`)
}

// TestWaterfallInTheBrowser opens a step by the mouse and by keys, and shows other durations and
// the planning calls. The address has the state, and updates of the page do not change it.
func TestWaterfallInTheBrowser(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	failed(w, "wfr_old")
	b := look(t, u, "ui/runs/wfr_old")
	b.size(1280, 800)
	b.holds("the row that failed is in the first screen", `document.querySelector("li.failed .step").getBoundingClientRect().bottom <= innerHeight`)
	b.holds("the sleep is a break of all rows", `document.querySelector(".axis .break").textContent === "1 h"`)
	b.do("open a step", chromedp.Click(chromedp.CSS("#step-2 .name"), chromedp.NodeVisible))
	b.holds("the pane has the step", `document.querySelector("#h-pane")?.textContent.startsWith("cool down")`)
	b.holds("the pane has the focus", `document.activeElement.id === "pane"`)
	u.Publish("https://app.test/x", nil, "Svc-Delay: 1h") // the page follows
	b.see("Messages 1")
	b.holds("the step stays", `document.querySelector("#h-pane").textContent.startsWith("cool down") && location.search.includes("step=2")`)
	b.keys(kb.Escape)
	b.holds("the pane is closed, and its row has the focus", `!document.querySelector("#pane") && document.activeElement.closest("li")?.id === "step-2"`)
	b.keys("j")
	b.keys("h")
	b.holds("the fork is folded", `[...document.querySelectorAll(".branch details")].some((d) => !d.open)`)
	b.keys("l")
	b.holds("the fork is open", `[...document.querySelectorAll(".branch details")].every((d) => d.open)`)
	b.do("go back", chromedp.Evaluate[chromedp.Void](`history.back()`))
	b.holds("the pane has the step again", `document.querySelector("#h-pane")?.textContent.startsWith("cool down")`)
	b.click("Signature")
	b.see("Svc-Signature")
	b.click("Clock")
	b.holds("durations are those of the clock", `document.querySelector("#step-1 .took").textContent === "0 ms"`)
	b.visit("ui/runs/wfr_old")
	b.holds("durations are real", `document.querySelector("#step-1 .took").textContent !== "0 ms"`)
	b.click("Show 1 planning call")
	b.holds("the call is a row", `document.querySelector("li.plan") !== null && location.search.includes("plan=shown")`)
	b.size(390, 844)
	b.holds("names and pictures are not side by side on a telephone", `document.querySelector(".step .lane").getBoundingClientRect().top > document.querySelector(".step .name").getBoundingClientRect().bottom - 4`)
	b.holds("the picture is as wide as the screen allows", `document.querySelector(".step .lane").getBoundingClientRect().width > 300`)
	b.holds("the row that failed is within two screens", `document.querySelector("li.failed .step").getBoundingClientRect().bottom + scrollY <= 2 * innerHeight`)
}
