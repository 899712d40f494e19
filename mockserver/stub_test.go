package mockserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

func TestStubs(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.do("PUT", "/_understudy/stubs", `[
		{"url": "https://once.test/*", "answers": [{"status": 500}, {"status": 202, "body": "second"}]},
		{"url": "/^https://echo\\.test/(\\d+)/(\\w+)/", "answers": [{"status": "$1", "body": "it was $2", "headers": {"X-Word": "$2"}}]},
		{"url": "https://any.test/", "method": "put", "answers": [{"status": 201}]},
		{"url": "https://any.test/", "header": {"X-Kind": "b"}, "answers": [{"status": 203}]},
		{"url": "https://any.test/", "answers": [{"status": 204}]},
		{"url": "https://slow.test/*", "answers": [{"status": 200, "delay": "20s"}]},
		{"url": "https://dead.test/*", "answers": [{"drop": true}]}
	]`).ok()
	send := func(url string, headers ...string) mockserver.Delivery {
		t.Helper()
		id := u.Publish(url, nil, append(headers, "Svc-Retries: 0")...)
		u.Advance(time.Minute)
		for _, d := range u.Deliveries() {
			if d.MessageID == id {
				return d
			}
		}
		t.Fatalf("no delivery to %s", url)
		return mockserver.Delivery{}
	}
	for i, want := range []int{500, 202, 202} {
		if d := send("https://once.test/a"); d.Response.Status != want {
			t.Errorf("answer %d: %d, want %d", i, d.Response.Status, want)
		}
	}
	{
		d := send("https://echo.test/418/tea")
		expect.Equal(t, "d.Response.Status", d.Response.Status, 418)
		expect.Equal(t, "d.Response.Body", string(d.Response.Body), "it was tea")
		expect.Equal(t, "d.Response.Header.Get(\"X-Word\")", d.Response.Header.Get("X-Word"), "tea")
	}
	if d := send("https://any.test/", "Svc-Method: PUT"); d.Response.Status != 201 {
		t.Errorf("by method: %d", d.Response.Status)
	}
	if d := send("https://any.test/", "Svc-Forward-X-Kind: b"); d.Response.Status != 203 {
		t.Errorf("by header: %d", d.Response.Status)
	}
	if d := send("https://any.test/"); d.Response.Status != 204 {
		t.Errorf("by URL: %d", d.Response.Status)
	}
	if d := send("https://slow.test/", "Svc-Timeout: 30s"); d.Response.Status != 200 || d.DurationMs != 20_000 {
		t.Errorf("slow: %d after %v ms", d.Response.Status, d.DurationMs)
	}
	if d := send("https://slow.test/", "Svc-Timeout: 10s"); d.Response.Status != 0 || !strings.Contains(d.Error, "10s") {
		t.Errorf("too slow: %d %q", d.Response.Status, d.Error)
	}
	if d := send("https://dead.test/"); d.Response.Status != 0 || d.Error == "" {
		t.Errorf("dropped: %d %q", d.Response.Status, d.Error)
	}
	shown := c.do("GET", "/_understudy/stubs", "").ok()
	if shown.number(0, "answers", 1, "status") != 202 || shown.text(1, "answers", 0, "status") != "$1" {
		t.Errorf("shown as %s", shown.raw)
	}
	c.do("PUT", "/_understudy/stubs", string(shown.raw)).ok()
	c.do("DELETE", "/_understudy/stubs", "").ok()
	expect.Equal(t, "number of stubs left", len(c.do("GET", "/_understudy/stubs", "").ok().list()), 0)
}

// A slow stub takes time on the account's clock: the key stays busy meanwhile.
func TestASlowStubHoldsItsFlowControlKey(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Script(mockserver.Stub{URL: "*", Answers: []mockserver.Answer{{Delay: "10s"}}})
	for range 3 {
		u.Publish("https://e.test/", nil, "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=1")
	}
	for i, want := range []int{1, 2, 3} {
		if n := len(u.Deliveries()); n != want {
			t.Errorf("after %d s: %d deliveries, want %d", 10*i, n, want)
		}
		u.Advance(10 * time.Second)
	}
}

func TestStubsThatCannotBe(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for body, text := range map[string]string{
		`[{"url":"/(/"}]`:                                    `body /0/url: invalid value "/(/": must be a URL in which`,
		`[{"answers":[]}]`:                                   "url",
		`[{"url":"x","method":"G ET"}]`:                      `body /0/method: invalid value "G ET": must be an HTTP method such as POST`,
		`[{"url":"x","answers":[{"status":99}]}]`:            "status",
		`[{"url":"x","answers":[{"delay":"soon"}]}]`:         `body /0/answers/0/delay: invalid value "soon": must be a duration such as 3s`,
		`[{"url":"x","answers":[{"stauts":200}]}]`:           `body /0/answers/0/stauts: unknown property: must be one of body, delay, drop, fail, headers, status; did you mean "status"?`,
		`{"url":"x"}`:                                        "array",
		`[{"url":"x","answers":[{"headers":{"a b":"x"}}]}]`:  `body /0/answers/0/headers: invalid value "a b": must be names of headers`,
		`[{"url":"x","answers":[{"headers":{"a":"x\ny"}}]}]`: `body /0/answers/0/headers/a: invalid value "x\ny": must be one line of text`,
		`[{"url":"x"`:                                        "line 1, column",
		"[\n{\"url\":\"x\"},\n{\"url\": nope}]":              "line 3, column",
	} {
		c.do("PUT", "/_understudy/stubs", body).refused(400, text)
	}
}

func TestEchoHosts(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Stubs: stub.EchoHosts, Outbound: "stub-only"})
	for _, c := range []struct {
		url, method string
		status      int
		took        float64 // ms
	}{
		{"https://example.com", "POST", 200, 1000},
		{"http://www.example.org:80/?x=1", "POST", 200, 1000},
		{"https://Example.net#top", "GET", 200, 1000},
		{"https://www.example.com/path?x=1", "POST", 404, 1000},
		{"https://example.com/123/?x=1", "POST", 404, 1000},
		{"https://absent.example.com", "POST", 404, 1000},
		{"https://mock.httpstatus.io/503", "POST", 503, 300},
		{"https://mock.httpstat.us/418", "POST", 418, 300},
		{"https://mock.httpstatus.io/200?sleep=3000", "POST", 200, 3000},
		{"http://httpstat.us/404", "POST", 404, 300},
		{"https://httpstat.us", "GET", 200, 300},
		{"https://httpbin.org/post", "POST", 200, 300},
		{"https://httpbin.org/post?a=b", "GET", 405, 300},
		{"https://httpbin.org/get", "GET", 200, 300},
		{"https://HTTPBIN.org/status/503", "POST", 503, 300},
		{"https://httpbin.org/delay/2", "POST", 200, 2000},
		{"http://httpbin.org:80/anything/a/b?c=d", "PUT", 200, 300},
		{"https://httpbin.org/nowhere", "POST", 404, 300},
		{"https://httpbin.org/", "GET", 200, 300},
		{"https://first-message.requestcatcher.com/test", "POST", 200, 300},
	} {
		id := u.Publish(c.url, nil, "Svc-Retries: 0", "Svc-Method: "+c.method)
		if m := u.Message(id); m.ID != id {
			t.Errorf("%s: cannot be looked at before it is delivered", c.url)
		}
		u.Advance(5 * time.Second)
		list := u.Deliveries()
		d := list[len(list)-1]
		expect.Equal(t, "d.MessageID", d.MessageID, id)
		expect.Equal(t, "d.Response.Status", d.Response.Status, c.status)
		expect.Equal(t, "d.DurationMs", d.DurationMs, c.took)
		expect.True(t, "d.Stubbed", d.Stubbed)
	}
	for _, other := range []string{"https://notexample.com/", "https://example.com.evil.test/", "https://httpbin.org.evil.test/post", "https://app.test/?u=https://httpbin.org/post"} {
		u.Publish(other, nil, "Svc-Retries: 0")
		list := u.Deliveries()
		if d := list[len(list)-1]; d.Stubbed {
			t.Errorf("%s was answered by the preset", other)
		}
	}
}

func TestAnEchoHostEchoes(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Stubs: stub.EchoHosts})
	for body, want := range map[string]string{`{"a":[1]}`: `{"a":[1]}`, `no "JSON" {{url}} $1`: "null", "": "null"} {
		u.Publish("https://httpbin.org/post?x=1&y=a%20b", []byte(body), "Svc-Forward-X-Order: 7", "Svc-Retries: 0")
		u.Advance(time.Second)
		list := u.Deliveries()
		var echo struct {
			Args, Headers     map[string]string
			Data, Method, URL string
			JSON              json.RawMessage
		}
		expect.NoError(t, json.Unmarshal(list[len(list)-1].Response.Body, &echo))
		expect.Equal(t, "echo.Data", echo.Data, body)
		expect.Equal(t, "echo.JSON", string(echo.JSON), want)
		expect.Equal(t, "echo.Method", echo.Method, "POST")
		expect.Equal(t, "echo.URL", echo.URL, "https://httpbin.org/post?x=1&y=a%20b")
		expect.Equal(t, "echo.Args[\"y\"]", echo.Args["y"], "a b")
		expect.Equal(t, "echo.Headers[\"X-Order\"]", echo.Headers["X-Order"], "7")
	}
}

func TestStubsFailAsNetworksDo(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	for fail, want := range map[string]string{"refused": "refused", "reset": "reset", "timeout": "timeout of 7s", "tls": "TLS"} {
		u.Script(mockserver.Stub{URL: "https://app.test/" + fail, Answers: []mockserver.Answer{{Fail: fail}}})
		id := u.Publish("https://app.test/"+fail, nil, "Svc-Retries: 0", "Svc-Timeout: 7s")
		u.Advance(time.Minute)
		for _, d := range u.Deliveries() {
			if d.MessageID == id {
				expect.Contains(t, fmt.Sprintf("%s: d.Error", fail), d.Error, want)
				expect.Equal(t, fmt.Sprintf("%s: d.Response.Status", fail), d.Response.Status, 0)
			}
		}
	}
	if _, err := mockserver.New(mockserver.Config{Stubs: []mockserver.Stub{{URL: "*", Answers: []mockserver.Answer{{Fail: "badly"}}}}}); err == nil || !strings.Contains(err.Error(), `stubs/0/answers/0/fail: invalid value "badly": must be one of refused`) {
		t.Errorf("an unknown failure: %v", err)
	}
}

func TestStubsEchoAndCountByMessage(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Script(mockserver.Stub{URL: "https://app.test/*", PerMessage: true, Answers: []mockserver.Answer{
		{Status: "503"}, {Status: "200", Body: "{{method}} {{url}} {{header X-Order}} {{body}}"},
	}})
	for _, body := range []string{"one", "two"} {
		u.Publish("https://app.test/"+body, []byte(body), "Svc-Forward-X-Order: 7")
	}
	u.Advance(time.Minute)
	var last []string
	for _, d := range u.Deliveries()[2:] {
		last = append(last, string(d.Response.Body))
	}
	slices.Sort(last)
	expect.Equal(t, "the second", strings.Join(last, ", "), "POST https://app.test/one 7 one, POST https://app.test/two 7 two")
}

func TestNearMisses(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Outbound: "stub-only"})
	u.Script(mockserver.Stub{URL: "https://other.test/*"})
	u.Script(mockserver.Stub{URL: "https://app.test/orders", Method: "PUT", Header: map[string]string{"X-Team": "blue"}})
	u.Publish("https://app.test/orders", nil, "Svc-Retries: 0", "Svc-Forward-X-Team: red")
	want := `closest stub: https://app.test/orders: the method is POST, the stub takes PUT; the header X-Team is "red", the stub takes "blue"`
	expect.Equal(t, "near miss", u.Deliveries()[0].NearMiss, want)
}

func TestADeliveryToAnotherHostIsNearToNoStub(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Script(mockserver.Stub{URL: "https://other.test/*"})
	u.Script(mockserver.Stub{URL: "http://127.0.0.2:1/*"})
	u.Publish(u.URL()+"/_understudy/sink/status/200", nil)
	u.Publish("http://127.0.0.1:1/nobody", nil, "Svc-Retries: 0")
	for _, d := range u.Deliveries() {
		if answered := d.Response.Status != 0; answered != (d.NearMiss == "") {
			t.Errorf("%s: status %d: near miss %q", d.URL, d.Response.Status, d.NearMiss)
		}
	}
	u.Script(mockserver.Stub{URL: u.URL() + "/_understudy/sink/status/200", Method: "PUT"})
	u.Script(mockserver.Stub{URL: u.URL() + "/_understudy/sink/status/500"})
	u.Publish(u.URL()+"/_understudy/sink/status/200", nil)
	all := u.Deliveries()
	expect.Contains(t, "near miss on the same host", all[len(all)-1].NearMiss, "the method is POST, the stub takes PUT")
}

func TestAStubAsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mockserver.Stub{
		"https://app.test/*=503":                     {URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "503"}}},
		"https://app.test/?a=b=200:x=y":              {URL: "https://app.test/?a=b", Answers: []mockserver.Answer{{Status: "200", Body: "x=y"}}},
		"https://app.test/*=200:a=500":               {URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "200", Body: "a=500"}}},
		"https://app.test/*=200@3s":                  {URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "200", Delay: "3s"}}},
		`https://app.test/*=200@1.5s:{"at":"a@b:c"}`: {URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "200", Delay: "1.5s", Body: `{"at":"a@b:c"}`}}},
		"https://app.test/*=200:@3s":                 {URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "200", Body: "@3s"}}},
	} {
		got, err := mockserver.ParseStub(text)
		expect.Equal(t, text+": error", err, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"https://app.test/*=200@soon": `invalid value "soon": must be a duration`,
		"https://app.test/*=200@":     `invalid value "https://app.test/*=200@": must be URL=STATUS[@DELAY][:BODY]`,
		"https://app.test/*=ok":       `invalid value "https://app.test/*=ok": must be URL=STATUS[@DELAY][:BODY]`,
	} {
		_, err := mockserver.ParseStub(text)
		expect.Contains(t, text+": error", fmt.Sprint(err), want)
	}
}
