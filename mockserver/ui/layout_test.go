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
		"now": "", "messages": "ui/messages", "message": "ui/messages/" + retried, "message-with-callback": "ui/messages/" + answered, "message-response": "ui/messages/" + retried + "?part=response", "message-headers": "ui/messages/" + retried + "?part=headers", "message-signature": "ui/messages/" + retried + "?part=signature", "edit": "ui/messages/" + answered + "?edit=yes", "runs": "ui/runs", "run": "ui/runs/wfr_order-1", "run-step": "ui/runs/wfr_order-1?step=1", "run-log": "ui/runs/wfr_order-1?tab=log", "run-data": "ui/runs/wfr_order-1?tab=data", "run-again": "ui/runs/wfr_order-1?tab=again",
		"dlq": "ui/dlq", "dlq-entry": "ui/dlq/" + list.Entries[0].DlqID, "flow": "ui/flow", "groups": "ui/groups", "queues": "ui/queues",
		"schedules": "ui/schedules", "statistics": "ui/statistics?period=3h", "indexes": "ui/indexes", "limits": "ui/limits",
		"requests": "ui/requests", "stubs": "ui/stubs", "body": "ui/body/messages/" + retried, "search": "ui/search?q=order", "nothing": "ui/nothing",
		"nothing-found": "ui/search?q=no-such-word", "ask": "ui/ask/reset?back=/_understudy/", "compare-choice": "ui/compare/wfr_order-1", "compare-attempts": "ui/compare/" + retried + "?first=1&second=3", "compare-runs": "ui/compare/wfr_order-1?with=wfr_order-2",
	}
}

// sizes are the tested screens: a phone, a laptop, a wide screen.
var sizes = []struct {
	name          string
	width, height int64
}{{"390", 390, 844}, {"1280", 1280, 900}, {"1920", 1920, 1080}}

var themes = []string{"light", "dark"}

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
