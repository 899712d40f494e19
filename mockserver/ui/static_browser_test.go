//go:build browser

package ui_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestScriptsRunAfterTheFirstPaint checks which files the browser loads, and when.
func TestScriptsRunAfterTheFirstPaint(t *testing.T) {
	t.Parallel()
	b := look(t, mockserver.RunT(t), "ui/messages")
	b.holds("something was painted", `performance.getEntriesByName("first-contentful-paint").length > 0`)
	late := `(() => {
		const painted = performance.getEntriesByName("first-contentful-paint")[0].startTime;
		const patience = performance.getEntriesByType("navigation")[0].domContentLoadedEventStart + 1000;
		return performance.getEntriesByType("resource").filter((r) => /page\.js|htmx/.test(r.name)).every((r) => r.startTime >= Math.min(painted, patience));
	})()`
	expect.True(t, "the scripts are loaded after the paint, or a second after the page", ask[bool](b, late))
	expect.Equal(t, "number of files before the first paint", ask[int](b, `performance.getEntriesByType("resource").filter((r) => /static/.test(r.name) && !/page\.js|htmx|icon/.test(r.name)).length`), 3)
}

// TestSettingsBeforeTheFirstPaint checks that the page waits for its first script only if the
// browser has settings that affect the look: reading them takes the browser milliseconds.
func TestSettingsBeforeTheFirstPaint(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	expect.Contains(t, "page without settings", request(t, u, http.MethodGet, "/_understudy/", ""), `" defer></script>`)
	expect.Lacks(t, "page with settings", request(t, u, http.MethodGet, "/_understudy/", "", "Cookie", "understudy-look=yes"), "defer>")
	b := look(t, u, "")
	b.click("Use dark theme")
	b.holds("the browser remembers that there are settings", `document.cookie.includes("understudy-look=yes")`)
	b.visit("")
	expect.Equal(t, "theme", ask[string](b, `document.documentElement.dataset.theme`), "dark")
	expect.True(t, "the script runs before the page", !ask[bool](b, `document.querySelector("script[data-then]").defer`))
	b.do("lose the cookie", evaluate(`document.cookie = "understudy-look=; path=/_understudy/; max-age=0"`))
	b.visit("")
	expect.Equal(t, "theme without the cookie", ask[string](b, `document.documentElement.dataset.theme`), "dark")
	b.do("forget the theme", evaluate(`localStorage.clear()`))
}

// TestRowsAreShownAfterTheFirstPaint checks that rows below the screen are shown too.
func TestRowsAreShownAfterTheFirstPaint(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	for range 35 {
		u.Publish("https://app.test/x", nil)
	}
	u.Settle()
	b := look(t, u, "ui/messages")
	b.holds("all rows are shown", `[...document.querySelectorAll("#view tbody tr")].filter((r) => r.offsetHeight > 0).length === 35`)
	b.do("scroll to the end and load the page again", evaluate(`scrollTo(0, 1e6); location.reload()`))
	b.holds("the page is at its end again", `typeof follower === "object" && scrollY > 0 && scrollY + innerHeight > document.documentElement.scrollHeight - 200`)
}

func (f fatal) Fatalf(format string, values ...any) {
	panic(fatalText(fmt.Sprintf(format, values...)))
}

func TestATabThatCrashesEndsItsTest(t *testing.T) {
	t.Parallel()
	b := look(t, mockserver.RunT(t), "")
	b.t = fatal{t}
	defer func() {
		said, _ := recover().(fatalText)
		expect.Contains(t, "reason", string(said), "the tab has crashed")
	}()
	_ = chromedp.Do(b.ctx, chromedp.Navigate("chrome://crash")) // a crash gives no response
	b.holds("nothing", "false")
}
