//go:build browser

package ui_test

import (
	"net/url"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestSearchOnThePage finds one order by a word of its body among 100,000, and opens it.
func TestSearchOnThePage(t *testing.T) {
	t.Parallel()
	const all = 100_000
	u := mockserver.RunT(t, mockserver.Config{SkipResponseCheck: true})
	u.Stub("https://app.test/*", 200)
	many(t, u, all)
	b := look(t, u, "ui/messages")
	b.keys("/")
	expect.Equal(t, "what has the focus after /", ask[string](b, `document.activeElement.id`), "search")
	ask[bool](b, `document.activeElement.select() ?? true`) // the protocol also types the key into the box, unlike a keyboard
	b.keys("order-1234\"")                                  // excludes order-12345
	b.keys("\r")
	b.lands("Search")
	b.see("Messages 1")
	b.holds("the first result has the focus", `document.activeElement.matches("[data-open]")`)
	expect.Equal(t, "text that is marked", ask[string](b, `document.querySelector("mark").textContent`), `order-1234"`)
	address := ask[string](b, `location.pathname + location.search`)
	b.clickRow()
	b.lands("Messages · ")
	b.see("order-1234")

	t.Run("the address of a search shows it again", func(t *testing.T) {
		b.visit(address[len("/_understudy/"):])
		b.see("Messages 1")
		expect.Equal(t, "text in the box", ask[string](b, `document.querySelector("#search").value`), `order-1234"`)
	})
	t.Run("filters narrow a search", func(t *testing.T) {
		b.visit("ui/search?q=" + url.QueryEscape(`order-1234" label:mail`))
		b.see("Nothing found for")
	})
	t.Run("a link shows the next hits", func(t *testing.T) {
		b.visit("ui/search?q=" + url.QueryEscape(`kind:message label:shop ann`))
		b.see("Messages 20, and more")
		first := ask[string](b, `document.querySelector("[data-open]").textContent`)
		b.click("Older")
		b.holds("another first hit", `document.querySelector("[data-open]").textContent !== `+quote(first))
		expect.Equal(t, "number of hits", ask[int](b, `document.querySelectorAll(".hits li").length`), 20)
	})
}
