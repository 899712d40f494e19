//go:build browser

package ui_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	t.Run("a slider, links and a time select a record, and the view shows the state after it", func(t *testing.T) {
		t.Parallel()
		b := look(t, journaled(t), "ui/history")
		b.see("messages, delivered")
		b.see("This is the last state.")
		b.click("First record")
		b.see("The account after record 1 of")
		b.holds("the first record", `document.querySelector("tr[aria-current] td:nth-child(3) span")?.textContent === "begin"`)
		b.click("Next record")
		b.see("The account after record 2 of")
		b.see("url https://app.test/later")
		b.holds("one message was created", `[...document.querySelectorAll("[aria-label=State] tr")].some((r) => r.innerText.replace(/\s+/g, " ") === "messages, waiting 0 1")`)
		_ = ask[bool](b, `(() => {
			const slider = document.querySelector("#walk-slider");
			slider.focus();
			slider.value = 3;
			slider.dispatchEvent(new Event("input", { bubbles: true }));
			slider.dispatchEvent(new Event("change", { bubbles: true }));
			return true;
		})()`)
		b.see("The account after record 3 of")
		b.fill("Jump to a time", "2001-01-01")
		b.keys("\r")
		b.see("is before the first record")
		b.shoot("history")
	})
	t.Run("the view works without scripts", func(t *testing.T) {
		t.Parallel()
		u := journaled(t)
		page := request(t, u, http.MethodGet, "/_understudy/ui/history?lsn=2", "")
		expect.Contains(t, "page", page, `<b data-testid="lsn">2</b>`)
		expect.Contains(t, "page", page, "<button>Show</button>")
		expect.Contains(t, "navigation", page, ">History")
	})
	t.Run("the live account does not change, and updates of the page replay nothing", func(t *testing.T) {
		t.Parallel()
		u := journaled(t)
		before := snapshotOf(t, u)
		for lsn := range 4 {
			_ = request(t, u, http.MethodGet, fmt.Sprintf("/_understudy/ui/history?lsn=%d", lsn+1), "")
		}
		expect.Equal(t, "state", snapshotOf(t, u), before)
	})
	t.Run("a server without a journal does not have this view", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		expect.Lacks(t, "navigation", request(t, u, http.MethodGet, "/_understudy/", ""), ">History")
		expect.Contains(t, "page", request(t, u, http.MethodGet, "/_understudy/ui/history", ""), "has no journal: the server keeps it in memory; <code>understudy serve --data DIR</code> keeps one")
	})
}
