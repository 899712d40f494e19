package ui_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
)

// busy is a server whose account has entries in every view.
func busy(t testing.TB) *mockserver.TestServer {
	t.Helper()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	u.Stub("https://app.test/*", 200)
	u.Stub("https://down.test/*", 503)
	for _, label := range []string{"order", "invoice", "mail"} {
		u.Publish("https://app.test/"+label, []byte(`{"kind":"`+label+`","lines":[1,2,3]}`), "Svc-Label: "+label, "Svc-Callback: https://app.test/back", "Content-Type: application/json")
	}
	u.Publish("https://down.test/hook", []byte("gone"), "Svc-Retries: 0", "Svc-Failure-Callback: https://app.test/failed")
	u.Publish("https://down.test/hook", []byte("again"), "Svc-Retries: 5")
	u.Publish("https://app.test/later", nil, "Svc-Delay: 1h", "Svc-Label: reminder")
	for range 4 {
		u.Publish("https://app.test/paced", []byte("x"), "Svc-Flow-Control-Key: customer-7", "Svc-Flow-Control-Value: rate=2, period=10m, parallelism=3")
	}
	w.send(http.MethodPost, "/v2/flowControl/customer-9/pause", nil)
	u.Publish("https://app.test/held", []byte("x"), "Svc-Flow-Control-Key: customer-9", "Svc-Flow-Control-Value: parallelism=2")
	w.send(http.MethodPost, "/v2/topics/team/endpoints", map[string]any{"endpoints": []map[string]string{{"url": "https://app.test/a", "name": "a"}, {"url": "https://app.test/b"}}})
	request(t, u, http.MethodPost, "/v2/publish/team", "to all")
	w.send(http.MethodPost, "/v2/queues", map[string]any{"queueName": "mails", "parallelism": 2})
	w.send(http.MethodPost, "/v2/schedules/https://app.test/tick", "tick", "Svc-Cron", "*/15 * * * *", "Svc-Schedule-Id", "every-quarter")
	w.trigger("wfr_order-1")
	u.Advance(time.Hour + time.Minute)
	w.trigger("wfr_order-2")
	w.send(http.MethodPost, "/v2/notify/paid-wfr_order-1", map[string]bool{"paid": true})
	u.Settle()
	request(t, u, http.MethodPost, "/v2/publish/https://app.test/x", "x", "Svc-Retries", "many")
	request(t, u, http.MethodPut, "/_understudy/faults", `[{"on":"delivery","url":"https://slow.test/*","delay":"30s"}]`)
	request(t, u, http.MethodPut, "/_understudy/rewrites", `{"https://shop.example.com":"http://localhost:3000"}`)
	request(t, u, http.MethodPost, "/_understudy/as/"+account(t, u)+"/v2/search", `{"name":"products","region":"eu-west-1","type":"free"}`)
	request(t, u, http.MethodPost, "/_understudy/as/"+account(t, u)+"/index/default/upsert", `{"id":"1","vector":[0.1,0.2]}`)
	request(t, u, http.MethodPost, "/_understudy/as/"+account(t, u)+"/kv", `["EVAL","return {1,10}","1","api:alice:29000000","10","60000","1"]`)
	return u
}

// account is the id of the default account.
func account(t testing.TB, u *mockserver.TestServer) string {
	t.Helper()
	var o struct{ Account string }
	if err := json.Unmarshal([]byte(request(t, u, http.MethodGet, "/_understudy/overview", "")), &o); err != nil || o.Account == "" {
		t.Fatalf("overview: %+v, %v", o, err)
	}
	return o.Account
}

// addresses are the addresses of all views for the account of busy, by name.
func addresses(t testing.TB, u *mockserver.TestServer) map[string]string {
	t.Helper()
	var list struct {
		Messages []struct{ MessageID, URL string }
		Entries  []struct{ DlqID string }
	}
	for _, path := range []string{"messages", "dlq"} {
		if err := json.Unmarshal([]byte(request(t, u, http.MethodGet, "/_understudy/"+path, "")), &list); err != nil {
			t.Fatal(err)
		}
	}
	retried, answered := "", ""
	for _, m := range list.Messages {
		if strings.HasSuffix(m.URL, "app.test/order") {
			answered = m.MessageID // a message with a callback
		}
	}
	for _, m := range list.Messages {
		if strings.HasPrefix(m.URL, "https://down.test") {
			retried = m.MessageID
			break
		}
	}
	return map[string]string{
		"now": "", "messages": "ui/messages", "message": "ui/messages/" + retried, "message-with-callback": "ui/messages/" + answered, "runs": "ui/runs", "run": "ui/runs/wfr_order-1", "run-step": "ui/runs/wfr_order-1?step=1", "run-log": "ui/runs/wfr_order-1?tab=log", "run-data": "ui/runs/wfr_order-1?tab=data", "run-again": "ui/runs/wfr_order-1?tab=again",
		"dlq": "ui/dlq", "dlq-entry": "ui/dlq/" + list.Entries[0].DlqID, "flow": "ui/flow", "groups": "ui/groups", "queues": "ui/queues",
		"schedules": "ui/schedules", "statistics": "ui/statistics?period=3h", "indexes": "ui/indexes", "limits": "ui/limits",
		"requests": "ui/requests", "stubs": "ui/stubs", "body": "ui/body/messages/" + retried, "search": "ui/search?q=order", "nothing": "ui/nothing",
		"nothing-found": "ui/search?q=no-such-word", "ask": "ui/ask/reset?back=/_understudy/", "compare-attempts": "ui/compare/" + retried + "?first=1&second=3", "compare-runs": "ui/compare/wfr_order-1?with=wfr_order-2",
	}
}

// sizes are the tested screens: a phone, a laptop, a wide screen.
var sizes = []struct {
	name          string
	width, height int64
}{{"390", 390, 844}, {"1280", 1280, 900}, {"1920", 1920, 1080}}

var themes = []string{"light", "dark"}

// TestLayout checks each view in each size: nothing is wider than the screen, and axe-core finds
// no problem with all forms and menus open, in the light theme on the phone and the wide screen
// and in the dark one on the laptop. It takes pictures if SHOTS names a folder.
func TestLayout(t *testing.T) {
	t.Parallel()
	axe := axeSource(t)
	u := busy(t)
	together := fleetServer(t, u).URL // closed after the tab, whose streams it would wait for
	b := look(t, u, "")
	views := addresses(t, u)
	views["fleet"] = "ui/fleet"
	alone := b.url
	for name, path := range views {
		b.url = map[bool]string{true: together, false: alone}[name == "fleet"]
		b.visit(path)
		for i, size := range sizes {
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
			theme := themes[i%len(themes)]
			b.theme(theme)
			for _, fault := range judged(b, axe) {
				t.Errorf("%s in %s, %s: %s", name, size.name, theme, fault)
			}
			b.do("close them", evaluate(`document.querySelectorAll("[data-opened]").forEach((d) => { d.open = false; })`))
		}
		b.theme("light")
	}
}

// ticksOver lists the texts above the breaks of a waterfall that overlap.
const ticksOver = `(() => {
	const texts = [...document.querySelectorAll(".axis .break")].filter((x) => x.checkVisibility({ visibilityProperty: true })).map((x) => [x.textContent, x.getBoundingClientRect()]);
	texts.sort((a, b) => a[1].left - b[1].left);
	return texts.filter(([, r], i) => i > 0 && r.left < texts[i - 1][1].right).map(([x]) => x).join(", ");
})()`

// smallTexts lists the texts of pictures that are scaled down too far.
const smallTexts = `[...document.querySelectorAll("svg text")].filter((x) => x.checkVisibility() && 11 * x.getScreenCTM().a < 10.9).map((x) => x.textContent).join(", ")`

// TestIdsStayWhereTheyAre checks that an id is unique in each view, and at the same depth in
// all views: a merge of two views moves elements by their ids, and hangs if an element would
// be moved into itself.
func TestIdsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	u := busy(t)
	type place struct {
		depth int
		view  string
	}
	known := map[string]place{}
	for name, path := range addresses(t, u) {
		once := map[string]bool{}
		for _, one := range read(t, u, path).all("", "") {
			id := one.is("id")
			if id == "" {
				continue
			}
			if once[id] {
				t.Errorf("%s: the id %s occurs twice", name, id)
			}
			once[id] = true
			depth := 0
			for range one.Ancestors() {
				depth++
			}
			if other, ok := known[id]; ok && other.depth != depth {
				t.Errorf("the id %s is at depth %d in %s and at depth %d in %s", id, depth, name, other.depth, other.view)
			}
			known[id] = place{depth, name}
		}
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

// axeSource is the source of axe-core, from its published package.
func axeSource(t *testing.T) string {
	t.Helper()
	const dir = "testdata/axe"
	file := filepath.Join(dir, "node_modules/axe-core/axe.min.js")
	if _, err := os.Stat(file); err != nil {
		programs.Need(t, "the page is NOT checked for accessibility", "npm")
		npm := exec.CommandContext(t.Context(), "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
		npm.Dir = dir
		if out, err := npm.CombinedOutput(); err != nil {
			programs.SkipLoud(t, "npm install of the axe: "+err.Error()+": "+string(out))
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// request calls the server and returns the body of the answer for any status.
func request(t testing.TB, u *mockserver.TestServer, method, path, body string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, u.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(path, "/_understudy") {
		r.Header.Set("Authorization", "Bearer "+u.Token())
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return text(t, r)
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
