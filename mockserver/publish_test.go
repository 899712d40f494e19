package mockserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestPublishAnswers(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	first := c.do("POST", "/v2/publish/https://e.test/", "x", "Svc-Deduplication-Id: d").ok()
	again := c.do("POST", "/v2/publish/https://e.test/", "x", "Svc-Deduplication-Id: d")
	expect.Equal(t, "first.status", first.status, 200)
	expect.True(t, "first.text(\"messageId\") != \"\"", first.text("messageId") != "")
	expect.Equal[any](t, "first.get(\"deduplicated\")", first.get("deduplicated"), nil)
	expect.Equal[any](t, "first.get(\"url\")", first.get("url"), nil)
	expect.Equal(t, "again.status", again.status, http.StatusAccepted)
	expect.Equal(t, "again.text(\"messageId\")", again.text("messageId"), first.text("messageId"))
	expect.Equal(t, "again.get(\"deduplicated\")", again.get("deduplicated"), true)
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		if a := c.do(method, "/v2/publish/https://e.test/"+method, "").ok(); a.text("messageId") == "" {
			t.Errorf("%s: %s", method, a.raw)
		}
	}
	for _, d := range u.Deliveries() {
		if d.Method != "POST" {
			t.Errorf("a publish by another method is delivered by %s", d.Method)
		}
	}
}

func TestDeduplicationWindowIsExact(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Svc-Deduplication-Id: d", "Svc-Content-Based-Deduplication: true"} {
		u := mockserver.RunT(t)
		u.Stub("*")
		c := newClient(t, u)
		send := func(url, body string) int { return c.do("POST", "/v2/publish/"+url, body, header).ok().status }
		if got := send("https://e.test/", "x"); got != 200 {
			t.Fatal(got)
		}
		u.Advance(10*time.Minute - time.Millisecond)
		if got := send("https://e.test/", "x"); got != 202 {
			t.Errorf("%s: a millisecond before the end: %d", header, got)
		}
		u.Advance(time.Millisecond)
		if got := send("https://e.test/", "x"); got != 200 {
			t.Errorf("%s: at the end: %d", header, got)
		}
		other := 202
		if strings.HasPrefix(header, "Svc-Content") {
			other = 200
		}
		if got := send("https://f.test/", "x"); got != other {
			t.Errorf("%s: another destination: %d", header, got)
		}
	}
}

func TestBodiesBeyondTheLimit(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.do("POST", "/v2/publish/https://e.test/", strings.Repeat("x", 6<<20+1)).refused(http.StatusRequestEntityTooLarge, "6 MiB")
	c.do("POST", "/v2/publish/https://e.test/", strings.Repeat("x", 6<<20), "Svc-Delay: 1h").ok()
	expect.Equal(t, "number of log events", len(c.do("GET", "/v2/logs", "").ok().list("logs")), 1)
}

func TestBatch(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"url":"https://g.test/1"},{"url":"https://g.test/2"}]}`).ok()
	a := c.do("POST", "/v2/batch", `[
		{"destination": "https://e.test/1", "body": "text", "headers": {"Svc-Delay": "1h", "content-type": "text/plain", "Svc-Forward-X": ["a", "b"]}},
		{"destination": "g", "body": {"a": 1}},
		{"destination": "https://e.test/3", "queue": "q"}
	]`).ok()
	expect.Equal(expect.Now(t), "number of a.list()", len(a.list()), 3)
	expect.Equal(expect.Now(t), "len(a.list(1))", len(a.list(1)), 2)
	expect.Equal(expect.Now(t), "a.text(1, 0, \"url\")", a.text(1, 0, "url"), "https://g.test/1")
	expect.True(expect.Now(t), "a.text(0, \"messageId\") != \"\"", a.text(0, "messageId") != "")
	m := u.Message(a.text(0, "messageId"))
	expect.Equal(t, "m.Body", string(m.Body), "text")
	expect.Equal(t, "m.Options.Delay", m.Options.Delay, time.Hour)
	if expect.Equal(t, "number of m.Forward[\"X\"]", len(m.Headers.Forward().Header()["X"]), 2) {
		expect.Equal(t, "m.Headers.Forward().Header().Get(\"Content-Type\")", m.Headers.Forward().Header().Get("Content-Type"), "text/plain")
	}
	list := u.Deliveries()
	expect.Equal(expect.Now(t), "number of deliveries", len(list), 3)
	for _, d := range list {
		if strings.HasPrefix(d.URL, "https://g.test") && string(d.Request.Body) != `{"a": 1}` {
			t.Errorf("body %s", d.Request.Body)
		}
	}
}

func TestABatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	good := `{"destination":"https://e.test/"}`
	for bad, texts := range map[string][]string{
		`{"destination":"ftp://e.test/"}`:                                   {"item 1", "ftp"},
		`{"destination":"nobody"}`:                                          {"item 1", "nobody"},
		`{"destination":"https://e.test/","headers":{"Svc-Retries":"abc"}}`: {"item 1", "Svc-Retries", "abc"},
		`{"destination":"https://e.test/","headers":{"Svc-Retries":3}}`:     {"item 1", "Svc-Retries"},
		`{"destination":"https://e.test/","headers":{"X":"a\nb"}}`:          {"item 1", "X"},
		`{"destination":"https://e.test/","headers":{"X Y":"a"}}`:           {"item 1", "X Y"},
		`{"destination":"https://e.test/","queue":"a/b"}`:                   {"item 1", "queue"},
		`{"body":"x"}`: {"/1/destination"},
		`7`:            {"/1"},
	} {
		status := 400
		if strings.Contains(bad, "nobody") {
			status = 404
		}
		c.do("POST", "/v2/batch", "["+good+","+bad+","+good+"]").refused(status, texts...)
	}
	c.do("POST", "/v2/batch", good).refused(400, "array")
	c.do("POST", "/v2/batch", "["+good).refused(400, "line 1")
	expect.Equal(t, "number of log events of refused batches", len(c.do("GET", "/v2/logs", "").ok().list("logs")), 0)
	if a := c.do("POST", "/v2/batch", "[]").ok(); string(a.raw) != "[]" {
		t.Errorf("an empty batch answers %s", a.raw)
	}
}

func TestWebhookFromAThirdParty(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	query := "svc_token=" + u.Token() + "&svc-header-forward=true&svc-retries=0&svc-forward-x-extra=1&id=7"
	c.do("POST", "/v2/publish/https://e.test/hook?"+query, "a=1&b=2", "Authorization:", "Content-Type: application/x-www-form-urlencoded", "X-Signature: sha256=abc", "X-Event-Id: 12").ok()
	d := u.Deliveries()[0]
	h := d.Request.Header
	expect.Equal(t, "d.URL", d.URL, "https://e.test/hook?id=7")
	expect.Equal(t, "d.Request.Body", string(d.Request.Body), "a=1&b=2")
	expect.Equal(t, "h.Get(\"X-Signature\")", h.Get("X-Signature"), "sha256=abc")
	expect.Equal(t, "h.Get(\"X-Event-Id\")", h.Get("X-Event-Id"), "12")
	expect.Equal(t, "h.Get(\"X-Extra\")", h.Get("X-Extra"), "1")
	expect.Equal(t, "h.Get(\"Content-Type\")", h.Get("Content-Type"), "application/x-www-form-urlencoded")
	if strings.Contains(fmt.Sprint(h, d.URL), u.Token()) {
		t.Error("our token is passed on")
	}
}

func TestCallbacks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"svc", "upstash"} {
		d := dialect(t, name)
		p := d.HeaderPrefix
		u := mockserver.RunT(t, mockserver.Config{Dialect: d})
		u.Script(mockserver.Stub{URL: "https://e.test/*", Answers: []mockserver.Answer{{Status: "500", Body: "no", Headers: map[string]string{p + "Own": "1"}}, {Status: "200", Body: "yes"}}})
		u.Stub("https://cb.test/*")
		u.Publish("https://e.test/", []byte("question"), p+"Callback: https://cb.test/", p+"Callback-Method: PUT", p+"Callback-Forward-X: y", p+"Forward-Z: z")
		u.Advance(time.Hour)
		var bodies []string
		for _, one := range u.Deliveries() {
			if strings.HasPrefix(one.URL, "https://cb.test") {
				bodies = append(bodies, string(one.Request.Body))
				expect.Equal(t, fmt.Sprintf("%s: one.Method", name), one.Method, "PUT")
				expect.Equal(t, fmt.Sprintf("%s: one.Request.Header.Get(\"X\")", name), one.Request.Header.Get("X"), "y")
				expect.True(t, fmt.Sprintf("%s: one.Request.Header.Get(p+\"Signature\") != \"\"", name), one.Request.Header.Get(p+"Signature") != "")
			}
		}
		if expect.Equal(t, fmt.Sprintf("%s: number of bodies", name), len(bodies), 2) {
			expect.Contains(t, fmt.Sprintf("%s: bodies[0]", name), bodies[0], `"status":500`)
			expect.Contains(t, fmt.Sprintf("%s: bodies[1]", name), bodies[1], `"body":"eWVz"`)
			expect.Contains(t, fmt.Sprintf("%s: bodies[1]", name), bodies[1], `"sourceBody":"cXVlc3Rpb24="`)
		}
		if !strings.Contains(bodies[0], `"`+p+`Own":["1"]`) {
			t.Errorf("%s: names in %s", name, bodies[0])
		}
	}
}
