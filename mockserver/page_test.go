package mockserver_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestOverview looks at an account at a glance, once and following.
func TestOverview(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://e.test/*", 200)
	c := newClient(t, u)
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(time.Minute))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", u.URL()+"/_understudy/overview?follow=true", nil)
	expect.NoError(t, err)
	response, err := c.http.Do(r)
	expect.NoError(t, err)
	defer func() { _ = response.Body.Close() }() // it never ends
	lines := bufio.NewScanner(response.Body)
	next := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream ended before %s: %v", text, lines.Err())
	}
	next(`"messages":{}`)
	u.Publish("https://e.test/a", nil, "Svc-Delay: 1h")
	next(`"messages":{"CREATED":1}`)
	c.do("POST", "/v2/flowControl/k/pause", "").ok()
	next(`"paused":1`)
	c.do("POST", "/_understudy/clock/advance", `{"until":"idle"}`).ok()
	next(`"messages":{"DELIVERED":1}`)
	a := c.do("GET", "/_understudy/overview", "").ok()
	expect.Equal(t, "attempts of the overview", a.number("attempts"), 1)
	expect.Equal(t, "clock mode of the overview", a.text("clock", "mode"), "manual")
}

// TestMessagesOfTheControlAPI lists and traces what has ended as well.
func TestMessagesOfTheControlAPI(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	u.Stub("https://e.test/*", 200)
	c := newClient(t, u)
	fine := u.Publish("https://e.test/a", []byte("hello"), "Svc-Label: x", "Svc-Callback: https://e.test/back")
	failed := u.Publish("https://down.test/b", []byte("no"), "Svc-Retries: 0")
	waits := u.Publish("https://e.test/c", nil, "Svc-Delay: 1h", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: rate=1")
	u.Settle()
	for query, want := range map[string]string{
		"?state=FAILED": failed, "?state=CREATED": waits, "?url=https://down.test/": failed, "?label=x&url=https://e.test/a": fine, "?flowControlKey=k": waits, "?messageId=" + fine: fine,
	} {
		a := c.do("GET", "/_understudy/messages"+query, "").ok()
		if n := strings.Count(string(a.raw), `"messageId"`); n != 1 {
			t.Errorf("%s: got %d messages in %s, want 1", query, n, a.raw)
		}
		expect.Contains(t, query, string(a.raw), want)
	}
	a := c.do("GET", "/_understudy/messages?count=2", "").ok()
	b := c.do("GET", "/_understudy/messages?count=2&cursor="+a.text("cursor"), "").ok()
	expect.Equal(t, "messages of the first page", strings.Count(string(a.raw), `"messageId"`), 2)
	expect.Equal(t, "messages of the second page", strings.Count(string(b.raw), `"messageId"`), 2)
	expect.Lacks(t, "the last page", string(b.raw), "cursor")
	a = c.do("GET", "/_understudy/messages/"+fine, "").ok()
	for _, text := range []string{`"body":"hello"`, `"state":"DELIVERED"`, `"role":"callback"`, `"Svc-Signature"`, "ended"} {
		if !strings.Contains(string(a.raw), text) {
			t.Errorf("no %s in %s", text, a.raw)
		}
	}
	if a = c.do("GET", "/_understudy/messages/"+failed, "").ok(); a.text("dlqId") == "" {
		t.Errorf("dlqId of the failed message: got none in %s, want one", a.raw)
	}
	c.do("GET", "/_understudy/messages/msg_none", "").refused(404, "msg_none")
	c.do("GET", "/_understudy/messages?state=LOST", "").refused(400, "LOST", "DELIVERED")
	c.do("GET", "/_understudy/runs/wfr_none", "").refused(404, "wfr_none")
	expect.Contains(t, "the DLQ", string(c.do("GET", "/_understudy/dlq", "").ok().raw), `"responseStatus":503`)
	a = c.do("GET", "/_understudy/log?state=FAILED", "").ok()
	if n := strings.Count(string(a.raw), `"sequence"`); n != 1 {
		t.Errorf("the log of state FAILED: got %d events in %s, want 1", n, a.raw)
	}
}

// TestAs calls operations as the page does: without credentials, without the faults that
// are meant for clients, and unseen by the journal.
func TestAs(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "one", Token: "t1"}, {ID: "two/x", Token: "t2"}}})
	u.Stub("https://e.test/*", 200)
	c := newClient(t, u)
	c.do("PUT", "/_understudy/faults", `[{"on":"api","status":503}]`).ok()
	a := c.do("POST", "/_understudy/as/one/v2/publish/https://e.test/a%2Fb?x=1&x=2", "hi", "Authorization:", "Svc-Label: by-hand").ok()
	u.Settle()
	d := u.Deliveries()
	if expect.Equal(t, "number of deliveries", len(d), 1) {
		expect.Equal(t, "URL of the delivery", d[0].URL, "https://e.test/a%2Fb?x=1&x=2")
		expect.Equal(t, "message of the delivery", d[0].MessageID, a.text("messageId"))
	}
	for path, text := range map[string]string{
		"two%2Fx/v2/dlq": `"messages":[]`, "one/v2/search": "[]", "one/index/default/info": "vectorCount", "one/v2/qstash/stats/one": "daily_used",
	} {
		if a := c.do("GET", "/_understudy/as/"+path, "", "Authorization:").ok(); !strings.Contains(string(a.raw), text) {
			t.Errorf("%s: %s", path, a.raw)
		}
	}
	if a := c.do("POST", "/_understudy/as/one/kv", `["SET","a","b"]`, "Authorization:").ok(); a.text("result") != "OK" {
		t.Errorf("the result of SET: got %s, want OK", a.raw)
	}
	if r := u.Requests(); len(r) != 0 {
		t.Errorf("the journal has %+v", r)
	}
	c.do("GET", "/_understudy/as/three/v2/dlq", "").refused(404, "three")
	c.do("GET", "/_understudy/as/one/v2/nothing", "").refused(404, "v2/nothing")
	c.do("GET", "/_understudy/as/one/_understudy/as/one/v2/dlq", "").refused(400, "control API")
	c.do("POST", "/_understudy/as/one/v2/publish/https://e.test/", "x", "Svc-Retries: many").refused(400, "many")
}

// TestLimits: the counters of the plugin, as its keys in the store say.
func TestLimits(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	for _, command := range []string{
		`["SET","@svc:GET:/api/:kind:alice:176722560","4","PX","60000"]`, `["HSET","my:app:ALL:*:ip:::1","refilledAt","1","tokens","0"]`,
		`["SET","another:thing","7"]`, `["SET","a:GET:list:b","no number"]`, `["ZADD","@svc:GET:/api:events:1767225600000","1","x"]`,
	} {
		c.do("POST", "/_understudy/as/svcUser/kv", command).ok()
	}
	at := u.Now().Truncate(time.Millisecond).Add(time.Minute).UnixMilli()
	want := fmt.Sprintf(`{"limits":[{"key":"@svc:GET:/api/:kind:alice:176722560","used":4,"expiresAt":%d},{"key":"my:app:ALL:*:ip:::1","left":0}]}`, at)
	expect.Equal(t, "counters", strings.TrimSpace(string(c.do("GET", "/_understudy/limits", "").ok().raw)), want)
	c.do("DELETE", "/_understudy/limits?key=my:app:ALL:*:ip:::1", "").ok()
	expect.Lacks(t, "counters after one was reset", string(c.do("GET", "/_understudy/limits", "").ok().raw), "my:app")
	c.do("DELETE", "/_understudy/limits", "").ok()
	expect.Equal(t, "counters after all were reset", strings.TrimSpace(string(c.do("GET", "/_understudy/limits", "").ok().raw)), `{"limits":[]}`)
	expect.Equal(t, "another key", c.do("POST", "/_understudy/as/svcUser/kv", `["GET","another:thing"]`).ok().text("result"), "7")
}

// TestThePageIsClosedOff: outside loopback it asks for the control token, and
// pages of other sites cannot press its buttons.
func TestThePageIsClosedOff(t *testing.T) {
	t.Parallel()
	s, err := mockserver.New(mockserver.Config{ControlToken: "secret", ControlOpenOnLoopback: true, Clock: "manual"})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // it never listened
	ask := func(method, path, from string, change func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://understudy.example"+path, strings.NewReader(""))
		r.RemoteAddr, r.Host = from, "localhost:8080"
		if change != nil {
			change(r)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	password := func(p string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth("anybody", p) }
	}
	site := func(from, mode string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", from)
			r.Header.Set("Sec-Fetch-Mode", mode)
		}
	}
	foreign := func(r *http.Request) { r.Host = "rebound.example" }
	const near, far = "127.0.0.1:5000", "192.0.2.7:5000"
	for _, c := range []struct {
		name, method, path, from string
		change                   func(*http.Request)
		want                     int
	}{
		{"loopback", "GET", "/_understudy/", near, nil, 200},
		{"without the slash", "GET", "/_understudy", near, nil, 303},
		{"the views", "GET", "/_understudy/ui", near, nil, 303},
		{"the views, with the slash", "GET", "/_understudy/ui/", near, nil, 303},
		{"far away", "GET", "/_understudy/", far, nil, 401},
		{"far away, a view", "GET", "/_understudy/ui/messages", far, nil, 401},
		{"far away, a button", "POST", "/_understudy/ui/do/reset", far, nil, 401},
		{"far away, as an account", "GET", "/_understudy/as/svcUser/v2/dlq", far, nil, 401},
		{"the token as the password", "GET", "/_understudy/", far, password("secret"), 200},
		{"and for the stream", "GET", "/_understudy/overview", far, password("secret"), 200},
		{"a wrong password", "GET", "/_understudy/", far, password("guess"), 401},
		{"a name of another site", "GET", "/_understudy/", near, foreign, 401},
		{"a button from another site", "POST", "/_understudy/ui/do/reset", near, site("cross-site", "navigate"), 403},
		{"a command from another site", "POST", "/_understudy/reset", near, site("cross-site", "no-cors"), 403},
		{"a picture from another site", "GET", "/_understudy/as/svcUser/v2/publish/https://e.test/", near, site("cross-site", "no-cors"), 403},
		{"a link from another site", "GET", "/_understudy/", near, site("cross-site", "navigate"), 200},
		{"itself", "POST", "/_understudy/ui/do/reset", near, site("same-origin", "cors"), 303},
	} {
		w := ask(c.method, c.path, c.from, c.change)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, w.Code, c.want, w.Body)
		}
		if c.want == http.StatusUnauthorized && strings.HasPrefix(c.path, "/_understudy/ui") {
			expect.Equal(t, c.name+": challenge", w.Header().Get("WWW-Authenticate"), "Basic")
		}
	}
	w := ask("GET", "/_understudy/", near, nil)
	policy := w.Header().Get("Content-Security-Policy")
	expect.Contains(t, "Content-Security-Policy", policy, "default-src 'none'")
	expect.Lacks(t, "Content-Security-Policy", policy, "unsafe")
	for _, back := range []string{"https://evil.example/", "//evil.example/", "/\\evil.example", "/v2/dlq", ""} {
		w := ask("POST", "/_understudy/ui/do/reset", near, func(r *http.Request) {
			r.Body = http.NoBody
			body := strings.NewReader(url.Values{"back": {back}, "sure": {"yes"}}.Encode())
			*r = *httptest.NewRequest("POST", "http://localhost/_understudy/ui/do/reset", body)
			r.RemoteAddr = near
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		})
		if to := w.Header().Get("Location"); to != "/_understudy/" {
			t.Errorf("back to %q goes to %q", back, to)
		}
	}
}

// TestBodiesAreCutOnDemand: a list of large bodies can be had without them, cut
// between two characters.
func TestBodiesAreCutOnDemand(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	c := newClient(t, u)
	text := strings.Repeat("\u20ac", 1000) // of three bytes each
	id := u.Publish("https://e.test/", []byte(text))
	u.Publish("https://e.test/", []byte("\xff\xfe\xfd\xfc\xfb"))
	u.Settle()
	c.do("POST", "/v2/publish/https://e.test/", text, "Svc-Retries: many").refused(400)
	a := c.do("GET", "/_understudy/deliveries?maxBody=4&messageId="+id, "").ok()
	expect.Equal(t, "body of the delivery", a.text("entries", 0, "request", "body"), "\u20ac")
	expect.Equal(t, "bodyBytes of the delivery", a.number("entries", 0, "request", "bodyBytes"), 3000)
	a = c.do("GET", "/_understudy/messages/"+id+"?maxBody=7", "").ok()
	expect.Equal(t, "body of the message", a.text("message", "body"), "\u20ac\u20ac")
	expect.Equal(t, "bytes of the row", a.number("row", "bytes"), 3000)
	expect.Equal(t, "bodyBytes of the message's delivery", a.number("deliveries", 0, "request", "bodyBytes"), 3000)
	a = c.do("GET", "/_understudy/requests?maxBody=3&refused=true", "").ok()
	if expect.Equal(t, "number of refused requests", len(a.list("entries")), 1) {
		expect.Equal(t, "body of the refused request", a.text("entries", 0, "request", "body"), "\u20ac")
	}
	a = c.do("GET", "/_understudy/requests?maxBody=3&refused=false", "").ok()
	if expect.Equal(t, "number of other requests", len(a.list("entries")), 2) {
		expect.Equal(t, "bodyBase64 of the second request", a.text("entries", 1, "request", "bodyBase64"), "//79")
		expect.Equal(t, "bodyBytes of the second request", a.number("entries", 1, "request", "bodyBytes"), 5)
	}
	if a = c.do("GET", "/_understudy/deliveries?messageId="+id, "").ok(); a.text("entries", 0, "request", "body") != text {
		t.Errorf("the journal has lost what was cut for a reader: %.300s", a.raw)
	}
	c.do("GET", "/_understudy/requests?maxBody=0", "").refused(400, "maxBody")
}

// TestFlowKeysOfTheControlAPI: what holds something back comes first.
func TestFlowKeysOfTheControlAPI(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	c := newClient(t, u)
	for i := range 250 {
		u.Publish("https://e.test/", nil, fmt.Sprintf("Svc-Flow-Control-Key: key-%03d", i), "Svc-Flow-Control-Value: parallelism=1, rate=1, period=1h")
	}
	for range 2 {
		u.Publish("https://e.test/", nil, "Svc-Flow-Control-Key: key-100", "Svc-Flow-Control-Value: parallelism=1, rate=1, period=1h")
	}
	c.do("POST", "/v2/flowControl/key-200/pause", "").ok()
	u.Settle()
	a := c.do("GET", "/_understudy/flow", "").ok()
	if expect.Equal(t, "number of keys", len(a.list("keys")), 200) {
		expect.Equal(t, "number of all keys", a.number("all"), 250)
		expect.Equal(t, "the first key", a.text("keys", 0, "flowControlKey"), "key-200")
		expect.Equal(t, "the second key", a.text("keys", 1, "flowControlKey"), "key-100")
		expect.Equal(t, "waitListSize of the second key", a.number("keys", 1, "waitListSize"), 2)
	}
	a = c.do("GET", "/_understudy/flow?key=y-24&count=3", "").ok()
	expect.Equal(t, "number of keys of the filter's first page", len(a.list("keys")), 3)
	expect.Equal(t, "number of all keys of the filter", a.number("all"), 10)
}

// TestDocs reads the documentation from a server, as the page and the control API
// may be read: from this machine, or with the control token.
func TestDocs(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	for path, want := range map[string]string{
		"/_understudy/docs":                  "<h1 id=\"documentation\">",
		"/_understudy/docs/":                 "<h1 id=\"documentation\">",
		"/_understudy/docs/durability.md":    "<h1 id=",
		"/_understudy/docs/?q=signatures":    "<mark>",
		"/_understudy/docs/help.css?account": ".book",
	} {
		t.Run("GET "+path, func(t *testing.T) {
			t.Parallel()
			expect.Contains(t, "body", string(c.do("GET", path, "").ok().raw), want)
		})
	}
	t.Run("a page finds its styles, scripts and pictures", func(t *testing.T) {
		t.Parallel()
		found := regexp.MustCompile(`<(?:link|script|img)[^>]* (?:href|src)="([^"]+)"`).FindAllStringSubmatch(string(c.do("GET", "/_understudy/docs/page", "").ok().raw), -1)
		expect.Equal(t, "files", len(found) >= 5, true)
		for _, m := range found {
			c.do("GET", m[1], "").ok()
		}
	})
	t.Run("a page that does not exist is 404 with a hint", func(t *testing.T) {
		t.Parallel()
		a := c.do("GET", "/_understudy/docs/securty", "")
		expect.Equal(t, "status", a.status, http.StatusNotFound)
		expect.Contains(t, "body", string(a.raw), `Did you mean <a href="/_understudy/docs/security">`)
	})
	t.Run("nothing can be written", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "status", c.do("POST", "/_understudy/docs/security", "").status, http.StatusMethodNotAllowed)
	})
	public := quiet(t, mockserver.Config{ControlToken: "secret", ControlOpenOnLoopback: true})
	for fact, c := range map[string]struct {
		from   string
		header []string
		want   int
	}{
		"from this machine it needs no token":             {"127.0.0.1:5000", nil, http.StatusOK},
		"from another machine it needs the control token": {"192.0.2.7:5000", nil, http.StatusUnauthorized},
		"with the control token it is there":              {"192.0.2.7:5000", []string{"Authorization: Bearer secret"}, http.StatusOK},
		"a wrong token does not open it":                  {"192.0.2.7:5000", []string{"Authorization: Bearer wrong"}, http.StatusUnauthorized},
		"a page of another site may not show it":          {"127.0.0.1:5000", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, http.StatusForbidden},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "status", visitor{"GET", "/_understudy/docs/security", c.from, "localhost:8080", c.header}.ask(public).Code, c.want)
		})
	}
}
