//go:build browser

package ui_test

import (
	"cmp"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestLayout checks each view in each size: nothing is wider than the screen, and axe-core finds
// no problem with all forms and menus open, in both themes. It takes pictures if SHOTS names a folder.
func TestLayout(t *testing.T) {
	t.Parallel()
	axe := axeSource(t)
	u := busy(t)
	others := map[string]string{"fleet": fleetServer(t, u).URL, "hello": mockserver.RunT(t).URL()} // closed after the tab, whose streams they would wait for
	b := look(t, u, "")
	views := addresses(t, u)
	views["fleet"], views["hello"] = "ui/fleet", ""
	alone := b.url
	for name, path := range views {
		b.url = cmp.Or(others[name], alone)
		b.visit(path)
		for _, size := range sizes {
			b.size(size.width, size.height)
			if over := ask[string](b, ticksOver); over != "" {
				t.Errorf("%s, %s: texts of breaks overlap: %s", name, size.name, over)
			}
			if small := ask[string](b, smallTexts); small != "" {
				t.Errorf("%s, %s: texts of pictures are smaller than 11 px: %s", name, size.name, small)
			}
			if width := ask[int64](b, `document.documentElement.scrollWidth`); width > size.width {
				t.Errorf("%s is %d px wide on a screen of %d px", name, width, size.width)
			}
			for _, theme := range themes {
				b.theme(theme)
				b.shoot(name + "-" + size.name + "-" + theme)
			}
			b.do("open forms and menus", evaluate(`document.querySelectorAll("details:not([open])").forEach((d) => { d.open = true; d.dataset.opened = "yes"; })`))
			if width := ask[int64](b, `document.documentElement.scrollWidth`); width > size.width {
				t.Errorf("%s with open forms is %d px wide on a screen of %d px", name, width, size.width)
			}
			for _, theme := range themes {
				b.theme(theme)
				for _, fault := range judged(b, axe) {
					t.Errorf("%s in %s, %s: %s", name, size.name, theme, fault)
				}
			}
			b.do("close them", evaluate(`document.querySelectorAll("[data-opened]").forEach((d) => { d.open = false; })`))
		}
		b.theme("light")
	}
}

// TestLayoutOfDocumentationAndDialogs checks pages of the documentation, the open palette and the list
// of keys as TestLayout checks the views. Code can be scrolled by keys.
func TestLayoutOfDocumentationAndDialogs(t *testing.T) {
	t.Parallel()
	axe := axeSource(t)
	u := busy(t)
	b := look(t, u, "")
	check := func(name string) {
		for _, size := range sizes {
			b.size(size.width, size.height)
			if width := ask[int64](b, `document.documentElement.scrollWidth`); width > size.width {
				t.Errorf("%s is %d px wide on a screen of %d px", name, width, size.width)
			}
			for _, theme := range themes {
				b.theme(theme)
				for _, fault := range judged(b, axe) {
					t.Errorf("%s in %s, %s: %s", name, size.name, theme, fault)
				}
			}
		}
	}
	for name, open := range map[string]string{"palette": `palette.open()`, "keys": `document.querySelector("#keys").showModal()`} {
		b.visit("")
		b.do("open "+name, evaluate(open))
		b.holds(name+" is open", `document.querySelector("dialog[open]") !== null`)
		check(name)
	}
	for _, path := range []string{"docs/", "docs/clients", "docs/troubleshooting", "docs/?q=clock"} {
		b.do("open "+path, chromedp.Navigate(b.url+"/_understudy/"+path))
		check(path)
	}
	b.visit("ui/messages")
	b.keys(kb.Tab)
	b.holds("the first stop is the link to the content", `document.activeElement.matches(".skip")`)
	b.keys(kb.Enter)
	b.keys(kb.Tab)
	b.holds("the next stop is in the main part", `document.activeElement.closest("main") !== null`)
}

// TestTheBarOfAListIsOneRow looks at the bar above each list of an account that has something to cancel: heading, menus and
// the filled button are in one row, also on a phone, and what cancels is in the menu.
func TestTheBarOfAListIsOneRow(t *testing.T) {
	t.Parallel()
	u := busy(t)
	b := look(t, u, "")
	for _, view := range []string{"messages", "runs"} {
		b.visit("ui/" + view)
		for _, size := range sizes {
			b.size(size.width, size.height)
			expect.Equal(t, view+", "+size.name+": rows of the bar", ask[int](b, `new Set([...document.querySelectorAll(".head > *")].filter((e) => e.checkVisibility()).map((e) => { const r = e.getBoundingClientRect(); return Math.round((r.top + r.bottom) / 2); })).size`), 1)
			expect.Equal(t, view+", "+size.name+": buttons", ask[string](b, `[...document.querySelectorAll(".head :is(button, summary)")].filter((e) => e.checkVisibility()).map((e) => e.ariaLabel ?? e.textContent).join()`),
				map[bool]string{false: "Columns,"}[size.width < 768]+"More,"+map[string]string{"messages": "Publish message", "runs": "Trigger run"}[view])
		}
		b.click("More")
		b.see(map[string]string{"messages": "Cancel waiting messages", "runs": "Cancel running"}[view])
	}
}

// judged returns the problems that axe-core finds, of any level.
func judged(b *tab, axe string) []string {
	b.t.Helper()
	if !ask[bool](b, `typeof axe === "object"`) {
		ask[any](b, axe+"; null")
	}
	return ask[[]string](b, `axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations
		.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " ") + " " + n.html.slice(0, 200))))`)
}

// TestScreenshot takes the pictures of the README, which SHOTS=DIR saves there: a run of an
// application that runs and fails, in both themes.
func TestScreenshot(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	w.app.URL += "/wf/order"
	w.trigger("wfr_order-6")
	w.broken.Store(true)
	w.trigger("wfr_order-7")
	u.Advance(time.Hour + 20*time.Minute)
	w.send(http.MethodPost, "/v2/notify/paid-wfr_order-7", map[string]bool{"paid": true})
	u.Advance(time.Minute)
	b := look(t, u, "ui/runs/wfr_order-7")
	b.do("be as wide as a README shows it, and sharp", chromedp.EmulateViewport(1180, 720, chromedp.EmulateScale(1.5)))
	b.state("RUN_FAILED")
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for theme, name := range map[string]string{"light": "docs/page", "dark": "mockserver/ui/testdata/page-dark"} { // the program embeds one of them
		b.theme(theme)
		b.shoot("../" + name)
		expect.Contains(t, "the README", string(readme), name+".png")
		if picture, err := os.Stat("../../" + name + ".png"); err != nil || picture.Size() < 10_000 {
			t.Errorf("%s.png: %v; run SHOTS=$PWD/docs go test -run TestScreenshot ./mockserver/ui", name, err)
		}
	}
}
