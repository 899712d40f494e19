//go:build browser

package ui_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestAMoveOfTheClockSaysWhatItCaused moves the clock, follows the link, and finds the move
// marked in the list.
func TestAMoveOfTheClockSaysWhatItCaused(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("*", 200)
	u.Stub("https://down.test/*", 503)
	u.Publish("https://app.test/before", nil)
	u.Publish("https://down.test/x", nil, "Svc-Retries: 1")
	u.Settle()
	b := look(t, u, "ui/messages")
	b.click("+1 h")
	b.see("1 h later: 1 attempt")
	u.Publish("https://app.test/after", nil)
	b.see("Clock advanced 1 h")
	b.holds("the mark is between the rows", `(() => { const rows = [...document.querySelectorAll("[data-rows] tbody tr")]; const at = rows.findIndex((r) => r.matches(".moved")); return rows[at - 1].innerText.includes("after") && !rows[at + 1].innerText.includes("after"); })()`)
	b.shoot("receipt")
	b.click("Show changes")
	b.lands("Search")
	b.see("down.test/x")
	b.see("1 h later")
	b.do("close it", evaluate(`document.querySelector("[data-close-said]").click()`))
	b.holds("it is closed", `document.querySelector("#said").textContent === ""`)
}

// TestALongMoveCanBeStopped stops a move of a year.
func TestALongMoveCanBeStopped(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://app.test/*", 200)
	request(t, u, http.MethodPost, "/v2/schedules/https://app.test/tick", "", "Svc-Cron", "* * * * *")
	b := look(t, u, "")
	b.openClock()
	b.fill("Move by", "365d")
	b.do("move", evaluate(`document.querySelector("[name=by]:not([type=hidden])").form.requestSubmit()`))
	b.see("attempts so far")
	b.do("stop", evaluate(`document.querySelector("#said button").click()`))
	b.see("Stopped. What has happened until now stays.")
	type overview struct{ Clock struct{ Now int64 } }
	b.holds("the clock stands still", `fetch("/_understudy/clock").then((a) => a.json()).then(async (a) => { await new Promise((d) => setTimeout(d, 300)); const b = await (await fetch("/_understudy/clock")).json(); return a.now === b.now; })`)
	expect.True(t, "it has not moved by the year", fetch[overview](t, u, "/_understudy/overview").Clock.Now < time.Date(2027, time.March, 2, 0, 0, 0, 0, time.UTC).UnixMilli())
}

// TestPalette finds a view, an action, a page of the help and a message with the keyboard.
func TestPalette(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	id := u.Publish("https://app.test/hook", []byte("blue shoes"))
	u.Settle()
	b := look(t, u, "")
	choose := func(words, sees string) {
		t.Helper()
		b.settled()
		b.do("Ctrl-K", evaluate(`document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true, cancelable: true }))`))
		b.holds("the palette is open", `document.activeElement.matches("#palette input")`)
		b.keys(words)
		b.holds("see "+sees, `document.querySelector("#choices").innerText.includes(`+quote(sees)+`)`)
	}
	choose("", "Statistics")
	b.shoot("palette")
	b.keys("sched")
	b.holds("a view is found", `[...document.querySelectorAll("#choices li")].some((l) => l.innerText.includes("Schedules"))`)
	b.do("close", evaluate(`document.querySelector("#palette").close()`))
	choose("views sched", "Schedules")
	b.keys("\r")
	b.lands("Schedules")
	choose("blue", "app.test/hook")
	b.keys("\r")
	b.lands("Messages · " + id)
	choose(id[:12], id)
	b.do("close", evaluate(`document.querySelector("#palette").close()`))
	choose("help workflows", "Help")
	b.do("close", evaluate(`document.querySelector("#palette").close()`))
	choose("edit and publish", "Edit and publish")
	b.keys("\r")
	b.see("both link to each other")
	choose("theme", "Use")
}
