package mockserver_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// rawPublish writes the request target to a socket as it is: no client
// tidies it up.
func rawPublish(t *testing.T, u *mockserver.TestServer, target string) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(u.URL(), "http://"))
	expect.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", target, u.Token())
	expect.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	expect.NoError(t, err)
	_ = response.Body.Close()
	return response.StatusCode
}

func TestDestinationsArriveAsTheClientMeantThem(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, target, want string }{
		{"double slash and escaped slash", "https://e.test/a//b%2Fc", "https://e.test/a//b%2Fc"},
		{"its own query, without configuration", "https://e.test/a?x=1&svc-retries=3&y=a%26b", "https://e.test/a?x=1&y=a%26b"},
		{"only configuration in the query", "https://e.test/a?svc-retries=3", "https://e.test/a"},
		{"trailing slash", "https://e.test/", "https://e.test/"},
		{"trailing slash behind a path", "https://e.test/a/", "https://e.test/a/"},
		{"no path", "https://e.test", "https://e.test"},
		{"port", "http://e.test:8443/a", "http://e.test:8443/a"},
		{"dot segments", "https://e.test/x/../y/./z", "https://e.test/x/../y/./z"},
		{"percent-encoded as a whole", "https%3A%2F%2Fe.test%2Fa%2F%2Fb%3Fx%3D1", "https://e.test/a//b?x=1"},
		{"percent-encoded as a whole, with an escape of its own", "https%3A%2F%2Fe.test%2Fa%252Fb", "https://e.test/a%2Fb"},
		{"percent-encoded as a whole, configuration outside", "https%3A%2F%2Fe.test%2Fa%3Fx%3D1?svc-retries=3", "https://e.test/a?x=1"},
		{"percent-encoded as a whole, configuration inside is the destination's", "https%3A%2F%2Fe.test%2Fa%3Fsvc-retries%3D3", "https://e.test/a?svc-retries=3"},
		{"percent-encoded scheme only", "https%3A//e.test/a%2520b", "https://e.test/a%20b"},
		{"a slash lost to a proxy", "https:/e.test/a//b", "https://e.test/a//b"},
		{"a URL in its query", "https://e.test/a?next=https://f.test//x", "https://e.test/a?next=https://f.test//x"},
		{"non-ASCII, escaped", "https://e.test/%C3%A4", "https://e.test/%C3%A4"},
		{"a plus and an empty parameter", "https://e.test/a?q=a+b&&z=", "https://e.test/a?q=a+b&&z="},
		{"IPv6", "http://[::1]:8080/a", "http://[::1]:8080/a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			u.Stub("*")
			expect.Equal(expect.Now(t), "status", rawPublish(t, u, "/v2/publish/"+c.target), http.StatusOK)
			list := u.Deliveries()
			if len(list) != 1 || list[0].URL != c.want {
				t.Errorf("delivered %v, want %s", list, c.want)
			}
		})
	}
}

// What the socket carries is what counts, not what we say of it.
func TestDestinationsOnTheWire(t *testing.T) {
	t.Parallel()
	cases := []struct{ path, want string }{
		{"/a//b%2Fc", "/a//b%2Fc"},
		{"/a/?x=1&svc-retries=0&y=%20", "/a/?x=1&y=%20"},
		{"/x/../y", "/x/../y"},
		{"", "/"},
		{"/a+b%2B", "/a+b%2B"},
	}
	for _, c := range cases {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			sink, targets := rawSink(t)
			expect.Equal(expect.Now(t), "status", rawPublish(t, u, "/v2/publish/http://"+sink+c.path), http.StatusOK)
			u.Settle()
			expect.Equal(t, "request target", <-targets, c.want)
		})
	}
}

// rawSink answers 200 to everything and gives the request targets as they came.
func rawSink(t *testing.T) (address string, targets <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	out := make(chan string, 10)
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			_, _ = fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = conn.Close()
			if parts := strings.Fields(line); len(parts) > 1 {
				out <- parts[1]
			}
		}
	}()
	return l.Addr().String(), out
}

func TestImpossibleDestinationsAreRefused(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	cases := []struct {
		name, target string
		texts        []string
	}{
		{"unknown scheme", "ftp://e.test/a", []string{"ftp", "http(s)://"}},
		{"empty", "", []string{"destination", "http(s) URL"}},
		{"bad port", "http://e.test:99999/", []string{"99999", "65535"}},
		{"port that is not a number", "http://e.test:http/", []string{"port"}},
		{"empty port", "http://e.test:/", []string{"port"}},
		{"no host", "https:///a", []string{"host"}},
		{"illegal group name", "no%20group", []string{"no group", "URL group"}},
		{"scheme without slashes", "mailto:a@e.test", []string{"mailto"}},
		{"a host without scheme", "e.test/a", []string{"e.test/a", "http(s)://"}},
		{"group name of 257 characters", strings.Repeat("g", 257), []string{"256"}},
		{"broken escape inside", "https%3A%2F%2Fe.test%2F%25zz", []string{"escape"}},
	}
	for _, row := range cases {
		t.Run(row.name, func(t *testing.T) {
			c.do("POST", "/v2/publish/"+row.target, "x").refused(400, row.texts...)
		})
	}
	c.do("POST", "/v2/publish/nobody", "x").refused(404, "nobody")
	expect.Equal(t, "number of deliveries of refused messages", len(u.Deliveries()), 0)
}

// A model provider is a destination when a stub answers for it; else a publish
// says how to add one.
func TestModelProviders(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	publishes := map[string]func() answer{
		"publish":  func() answer { return c.do("POST", "/v2/publish/api/llm", `{"model":"m"}`) },
		"encoded":  func() answer { return c.do("POST", "/v2/publish/api%2Fllm", `{"model":"m"}`) },
		"enqueue":  func() answer { return c.do("POST", "/v2/enqueue/q/api/llm", `{"model":"m"}`) },
		"batch":    func() answer { return c.do("POST", "/v2/batch", `[{"destination":"api/llm","body":"{}"}]`) },
		"schedule": func() answer { return c.do("POST", "/v2/schedules/api/llm", "{}", "Svc-Cron: * * * * *") },
	}
	for name, publish := range publishes {
		t.Run(name+" without a stub", func(t *testing.T) {
			publish().refused(400, `destination: no stub answers for the model provider "api/llm"`, "understudy ctl stub api/llm", "--stub api/llm=200")
		})
	}
	u.Script(mockserver.Stub{URL: "api/llm", Answers: []mockserver.Answer{{Status: "200", Body: `{"choices":[]}`}}})
	c.do("POST", "/v2/publish/api/email", "{}").refused(400, "understudy ctl stub api/email")
	for name, publish := range publishes {
		t.Run(name+" with a stub", func(t *testing.T) { publish().ok() })
	}
	u.Advance(time.Minute)
	list := u.Deliveries()
	expect.Equal(t, "number of deliveries", len(list), len(publishes))
	for _, d := range list {
		expect.Equal(t, "d.URL", d.URL, "api/llm")
		expect.Equal(t, "d.Response.Body", string(d.Response.Body), `{"choices":[]}`)
		expect.True(t, "signed", d.Request.Header.Get(published.HeaderPrefix+"Signature")+d.Request.Header.Get("Svc-Signature") != "")
	}
	t.Run("a stub that is gone fails the delivery with the same hint", func(t *testing.T) {
		c.do("POST", "/v2/publish/api/llm", "{}", "Svc-Delay: 1h", "Svc-Retries: 0").ok()
		c.do("DELETE", "/_understudy/stubs", "").ok()
		u.Advance(time.Hour)
		list := u.Deliveries()
		if last := list[len(list)-1]; !strings.Contains(last.Error, "understudy ctl stub api/llm") {
			t.Errorf("error %q", last.Error)
		}
	})
}

// The chat API of a client asks the model provider api/llm, and waits for the answer.
func TestAChatCompletionNeedsAStub(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	const question = `{"model":"m","messages":[{"role":"user","content":"?"}]}`
	ask := func() answer { return c.do("POST", "/llm/v1/chat/completions", question) }
	ask().refused(400, `no stub answers for the model provider "api/llm"`, "understudy ctl stub api/llm", "--stub api/llm=200")
	u.Script(mockserver.Stub{URL: "api/llm", Answers: []mockserver.Answer{{Status: "200", Body: `{"choices":[{"index":0}]}`}, {Status: "429", Body: `{"error":"slow down"}`}}})
	expect.Equal(t, "the answer", string(ask().ok().raw), `{"choices":[{"index":0}]}`)
	expect.Equal(t, "the status of the second answer", ask().status, 429)
	expect.Equal(t, "number of messages", len(c.do("GET", "/v2/logs", "").ok().list("logs")), 0)
}
