//go:build browser

package ui_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

// markup would run a script if the page contained it unescaped.
const markup = `"'><script>window.owned = 1</script><img src=x onerror="window.owned = 1"></textarea><svg onload="window.owned=1">{{.}}<a href="javascript:window.owned=1">x</a><form hx-get="/" hx-trigger="load"><hx-partial hx-target="body">owned`

// TestMarkupIsShownAsText shows messages with markup, a megabyte, binary data, right-to-left
// text, and 10,000 headers: none of them runs or breaks the page.
func TestMarkupIsShownAsText(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{MaxBody: 4 << 20})
	u.Script(mockserver.Stub{URL: "https://down.test/*", Answers: []mockserver.Answer{{Status: "500", Body: markup, Headers: map[string]string{"X-Markup": markup}}}})
	u.Stub("https://app.test/*", 200)
	ids := map[string]string{
		"markup": u.Publish("https://down.test/"+strings.ReplaceAll("<img src=x onerror=window.owned=1>", " ", "%20"), []byte(markup),
			"Svc-Retries: 0", "Svc-Forward-X-Markup: "+markup,
			"Svc-Flow-Control-Key: "+markup[:200], "Svc-Flow-Control-Value: parallelism=1", "Content-Type: text/html"),
		"megabyte": u.Publish("https://app.test/large", []byte(strings.Repeat("<b>0123456789abcdef</b>\n", 1<<20/24))),
		"one line": u.Publish("https://app.test/line", []byte(strings.Repeat("x", 1<<20))),
		"json":     u.Publish("https://app.test/json", []byte(strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000))),
		"bytes":    u.Publish("https://app.test/bytes", []byte("\x00\x01\xff\xfe\x80<script>window.owned=1</script>")),
		"arabic":   u.Publish("https://app.test/rtl", []byte("\u202e\u0645\u0631\u062d\u0628\u0627 <b>\u05e9\u05dc\u05d5\u05dd</b> \u2066 end")),
	}
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf("Svc-Forward-X-H%d: value %d", i, i)
	}
	ids["10,000 headers"] = u.Publish("https://app.test/headers", []byte("x"), many...)
	u.Settle()
	request(t, u, http.MethodPost, "/v2/publish/"+"%3Cimg%20src=x%20onerror=window.owned=1%3E", markup, "Svc-Retries", markup)
	request(t, u, http.MethodPut, "/_understudy/stubs", `[{"url":"https://<script>window.owned=1</script>/*","answers":[{"body":"</code><script>window.owned=1</script>"}]}]`)

	b := look(t, u, "")
	for name, id := range ids {
		page := request(t, u, http.MethodGet, "/_understudy/ui/messages/"+id, "")
		if len(page) > 400<<10 {
			t.Errorf("%s: the page has %d KiB", name, len(page)>>10)
		}
		b.visit("ui/messages/" + id)
		b.unharmed(name)
		if !ask[bool](b, `document.body.innerText.includes("Attempts") && document.documentElement.scrollWidth <= innerWidth`) {
			t.Errorf("%s: the page is broken or too wide", name)
		}
	}
	b.visit("ui/messages/" + ids["markup"])
	b.see(markup[:40])
	b.visit("ui/messages/" + ids["arabic"])
	if got := ask[string](b, `getComputedStyle(document.querySelector("pre.content")).direction`); got != "rtl" {
		t.Errorf("the direction of right-to-left text: got %s", got)
	}
	for _, path := range []string{"", "ui/messages", "ui/dlq", "ui/flow", "ui/requests", "ui/stubs", "ui/messages?label=" + "%22%3E%3Cscript%3Ewindow.owned=1%3C/script%3E", "ui/nope%3Cscript%3Ewindow.owned=1%3C%2Fscript%3E"} {
		b.visit(path)
		b.unharmed(path)
	}
	var entry string
	if _, after, ok := strings.Cut(request(t, u, http.MethodGet, "/_understudy/dlq", ""), `"dlqId":"`); ok {
		entry, _, _ = strings.Cut(after, `"`)
	}
	b.visit("ui/dlq/" + entry)
	b.unharmed("the DLQ entry")
	b.see("onerror=")
	b.click("Retry") // a fetch whose response is merged into the page
	b.see("was published again")
	b.unharmed("after a button")
}

// unharmed fails the test if a script of a message has run.
func (b *tab) unharmed(where string) {
	b.t.Helper()
	if ask[bool](b, `"owned" in window`) {
		b.t.Errorf("%s: a script of a message has run", where)
	}
}
