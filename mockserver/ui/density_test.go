//go:build browser

package ui_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/understudy-mock/understudy/mockserver"
)

// rowsAboveFold counts the fully visible rows of a list.
const rowsAboveFold = `[...document.querySelectorAll("#view [data-rows] tbody tr")].filter((r) => r.getBoundingClientRect().bottom <= innerHeight).length`

// TestDensity checks long lists on a small laptop screen.
func TestDensity(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	w := runOrders(t, u)
	u.Stub("*", 503)
	for i := range 30 {
		u.Publish(fmt.Sprintf("https://app.test/orders/%d?customer=%d", i, i), []byte(`{}`), "Svc-Label: a-rather-long-label", "Svc-Retries: 3", "Svc-Flow-Control-Key: key", "Svc-Flow-Control-Value: parallelism=9")
	}
	for i := range 30 {
		w.trigger(fmt.Sprintf("wfr_with-a-long-name-%d", i))
	}
	u.Settle()
	b := look(t, u, "")
	b.size(1280, 800)
	for path, want := range map[string]int{"ui/messages": 18, "ui/runs": 20} {
		b.visit(path)
		t.Run(path+": rows above the fold", func(t *testing.T) {
			if got := ask[int](b, rowsAboveFold); got < want {
				t.Errorf("got %d, want at least %d", got, want)
			}
		})
		t.Run(path+": each row is one line", func(t *testing.T) {
			if got := ask[float64](b, `Math.max(...[...document.querySelectorAll("#view [data-rows] tbody tr")].map((r) => r.offsetHeight))`); got != 28 {
				t.Errorf("the highest row: got %v px, want 28", got)
			}
		})
		t.Run(path+": the id comes last", func(t *testing.T) {
			if got := ask[string](b, `[...document.querySelectorAll("#view [data-rows] thead th")].filter((h) => h.checkVisibility()).at(-1).innerText`); got != "ID" {
				t.Errorf("the last column: got %s, want ID", got)
			}
		})
	}
}

// TestSortingByAColumn sorts by columns. The order applies to the whole list and is in the
// address.
func TestSortingByAColumn(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	for i := range 120 { // more than one page
		u.Publish(fmt.Sprintf("https://app.test/%03d", (i*7)%120), nil)
	}
	u.Settle()
	b := look(t, u, "ui/messages")
	first := `document.querySelector("[data-rows] [data-open]").innerText`
	b.click("Destination")
	b.holds("the first URL of all is first", first+` === "/000"`)
	b.holds("the column says so", `document.querySelector("[aria-sort=ascending]").innerText.startsWith("Destination")`)
	b.click("Destination")
	b.holds("the last URL of all is first", first+` === "/119"`)
	b.click("Older")
	b.holds("the next page continues", first+` === "/079"`)
	if got := ask[string](b, `location.search`); !strings.Contains(got, "sort=-url") {
		t.Errorf("the address: got %s, want sort=-url in it", got)
	}
	if answer := request(t, u, http.MethodGet, "/_understudy/ui/messages?sort=colour", ""); !strings.Contains(answer, "must be one of attempts, ") {
		t.Errorf("another column: got %.300s, want the columns", answer)
	}
}

// TestListBesideTheEntry opens messages on a wide screen: the list stays next to them, with
// its filter, its order and its width.
func TestListBesideTheEntry(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	for _, path := range []string{"b", "a", "c"} {
		u.Publish("https://app.test/"+path, nil, "Svc-Label: shop")
	}
	u.Publish("https://app.test/other", nil)
	u.Settle()
	b := look(t, u, "ui/messages?label=shop&sort=url")
	b.size(1920, 1080)
	b.clickRow()
	b.holds("the list is beside it", `document.querySelectorAll("#beside tbody tr").length === 3`)
	b.holds("on the left", `document.querySelector("#beside").getBoundingClientRect().right <= document.querySelector("#view").getBoundingClientRect().left + 1`)
	b.holds("in its order", `document.querySelector("#beside [aria-current] [data-open]").innerText === "/a"`)
	b.keys("jj")
	b.keys("\r")
	b.holds("another one is opened", `document.querySelector("#beside [aria-current] [data-open]")?.innerText === "/b"`)
	width := `document.querySelector("#beside").offsetWidth`
	before := ask[int](b, width)
	b.do("focus the splitter", evaluate(`document.querySelector("#splitter").focus()`))
	b.keys(kb.ArrowRight)
	if got := ask[int](b, width); got != before+16 {
		t.Errorf("the width after an arrow key: got %d, want %d", got, before+16)
	}
	b.visit("ui/messages?label=shop")
	b.clickRow()
	b.holds("the list is beside it again", `document.querySelector("#beside") !== null`)
	if got := ask[int](b, width); got != before+16 {
		t.Errorf("the width is remembered: got %d, want %d", got, before+16)
	}
	b.size(1280, 800)
	if ask[bool](b, `document.querySelector("#beside").checkVisibility()`) {
		t.Error("the list is next to the message on a small screen")
	}
	b.do("forget the width", evaluate(`localStorage.clear()`))
}

// TestColumnsAreRemembered hides one column and shows another.
func TestColumnsAreRemembered(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	u.Publish("https://app.test/one", nil)
	u.Settle()
	b := look(t, u, "ui/messages")
	columns := `[...document.querySelectorAll("#view th")].filter((h) => h.checkVisibility()).map((h) => h.dataset.col).join(" ")`
	usual := "state what where why attempts next age id"
	b.holds("the usual columns", columns+` === `+quote(usual))
	b.click("Columns")
	b.do("choose", evaluate(`document.querySelector("[data-column=size]").click(); document.querySelector("[data-column=next]").click()`))
	want := "state what where why attempts age size id"
	b.holds("the chosen columns", columns+` === `+quote(want))
	u.Publish("https://app.test/two", nil)
	u.Settle()
	b.do("follow at once", evaluate(`follower.rested = 0; follower.refresh()`))
	b.see("app.test/two") // the list was fetched again
	b.holds("the chosen columns stay", columns+` === `+quote(want))
	b.visit("ui/messages")
	b.holds("they are remembered", columns+` === `+quote(want))
	b.click("Columns")
	b.click("Reset columns")
	b.holds("the usual columns again", columns+` === `+quote(usual))
}
