package mockserver_test

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// port is where a server listens.
func port(t *testing.T, url string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	expect.NoError(t, err)
	return p
}

// A delivery reaches the sinks and the interface of its own server, but not the
// control API, however its URL leads there.
func TestADeliveryCannotControlItsServer(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{
		Addr: "0.0.0.0:0", RegionAddr: "127.0.0.1:0", ManagementAddr: "[::]:0", VectorAddr: "127.0.0.1:0",
		Clock: "real",
	})
	main := port(t, u.URL())
	local := "http://127.0.0.1:" + main
	c := newClient(t, u)
	c.url = local
	c.do("PUT", "/_understudy/rewrites", `{"https://rewritten.test":"`+local+`"}`).ok()
	hosts := []string{
		local, "http://localhost:" + main, "http://0.0.0.0:" + main, "http://127.0.0.2:" + main, "http://[::ffff:127.0.0.1]:" + main,
		"http://user:password@127.0.0.1:" + main, "http://2130706433:" + main, "https://rewritten.test",
		u.RegionURL(), "http://[::1]:" + port(t, u.ManagementURL()), "http://[::]:" + port(t, u.ManagementURL()), u.VectorURL(),
	}
	addresses, err := net.InterfaceAddrs()
	expect.NoError(t, err)
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			hosts = append(hosts, "http://"+n.IP.String()+":"+main)
		}
	}
	var published []string
	for _, host := range hosts {
		for _, path := range []string{
			"/_understudy/snapshot", "/_understudy/health", "/_understudy/accounts/" + "x", "/_understudy/", "/_understudy/ui/messages", "/", "//_understudy/snapshot",
			"/%5funderstudy/snapshot", "/_understudy/%73napshot", "/_understudy/../_understudy/snapshot", "/_understudy/sink/../snapshot", "/_UNDERSTUDY/snapshot",
		} {
			for _, method := range []string{"GET", "PUT"} {
				published = append(published, u.Publish(host+path, []byte("{}"), "Svc-Method: "+method, "Svc-Retries: 0"))
			}
		}
	}
	for _, d := range u.Deliveries() {
		if d.Response.Status >= 200 && d.Response.Status < 400 {
			t.Errorf("%s %s was answered %d %.80q", d.Method, d.URL, d.Response.Status, d.Response.Body)
		}
		if d.Response.Status == http.StatusForbidden && !strings.HasPrefix(string(d.Response.Body), `{"error":"a delivery must not`) {
			t.Errorf("%s %s was not known by its connection: %.80q", d.Method, d.URL, d.Response.Body)
		}
	}
	expect.Equal(t, "number of deliveries", len(u.Deliveries()), len(published))
	t.Run("the sinks and the interface take deliveries", func(t *testing.T) {
		sunk := u.Publish(local+"/_understudy/sink/status/200", nil, "Svc-Retries: 0")
		passed := u.Publish(local+"/v2/publish/"+local+"/_understudy/sink/status/200", nil, "Svc-Retries: 0", "Svc-Forward-Authorization: Bearer "+u.Token())
		seen := map[string]int{}
		for _, d := range u.Deliveries() {
			seen[d.MessageID] = d.Response.Status
		}
		if seen[sunk] != http.StatusOK || seen[passed] != http.StatusOK {
			t.Errorf("sink answered %d, publish %d; want 200", seen[sunk], seen[passed])
		}
	})
}

// A control request that carries what only deliveries carry is refused, regardless of who
// sends it: it may be a delivery that came through a proxy.
func TestAControlRequestWithTheHeadersOfADelivery(t *testing.T) {
	t.Parallel()
	for _, brand := range []string{"svc", "upstash"} {
		u := mockserver.RunT(t, mockserver.Config{Dialect: dialect(t, brand)})
		c := newClient(t, u)
		for _, name := range []string{"Svc-Signature", dialect(t, "upstash").HeaderPrefix + "Signature", dialect(t, "upstash").HeaderPrefix + "Message-Id", "svc-retried", "Understudy-Hops"} {
			t.Run(brand+" "+name, func(t *testing.T) {
				c.do("GET", "/_understudy/snapshot", "", name+": x").refused(http.StatusForbidden, "a delivery must not call the control API")
				c.do("POST", "/_understudy/sink/status/200", "", name+": x").ok()
			})
		}
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Messages that create each other by being delivered to their own server end in
// the DLQ after 16 steps, whichever operation passes them on.
func TestALoopIsCut(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(u *mockserver.TestServer, c *client){
		"through a URL group whose endpoint publishes to it": func(u *mockserver.TestServer, c *client) {
			c.do("POST", "/v2/topics/g/endpoints", fmt.Sprintf(`{"endpoints":[{"url":"%s/v2/publish/g"}]}`, u.URL())).ok()
			c.do("PATCH", "/v2/topics/g", fmt.Sprintf(`{"headers":{"Svc-Forward-Authorization":["Bearer %s"]}}`, u.Token())).ok()
			c.do("POST", "/v2/publish/g", "x").ok()
		},
		"through a queue": func(u *mockserver.TestServer, c *client) {
			c.do("POST", "/v2/topics/g/endpoints", fmt.Sprintf(`{"endpoints":[{"url":"%s/v2/enqueue/q/g"}]}`, u.URL())).ok()
			c.do("PATCH", "/v2/topics/g", fmt.Sprintf(`{"headers":{"Authorization":["Bearer %s"]}}`, u.Token())).ok()
			c.do("POST", "/v2/enqueue/q/g", "x").ok()
		},
		"through callbacks": func(u *mockserver.TestServer, c *client) {
			c.do("POST", "/v2/topics/g/endpoints", fmt.Sprintf(`{"endpoints":[{"url":"%s/_understudy/sink/status/200"}]}`, u.URL())).ok()
			c.do("PATCH", "/v2/topics/g", fmt.Sprintf(`{"headers":{"Svc-Callback":["%s/v2/publish/g"],"Svc-Callback-Forward-Authorization":["Bearer %s"]}}`, u.URL(), u.Token())).ok()
			c.do("POST", "/v2/publish/g", "x").ok()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &lines{}
			u := mockserver.RunT(t, mockserver.Config{Log: slog.New(slog.NewTextHandler(log, nil))})
			c := newClient(t, u)
			begin(u, c)
			u.Settle()
			if n := len(u.Deliveries()); n > 3*17 {
				t.Errorf("%d deliveries; want at most %d", n, 3*17)
			}
			entry := c.do("GET", "/v2/dlq", "").ok()
			if body := entry.text("messages", 0, "responseBody"); !strings.Contains(body, "loop") || !strings.Contains(body, "the limit is 16") {
				t.Errorf("DLQ: %s", entry.raw)
			}
			if !strings.Contains(log.String(), "loop cut") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// What a delivery to the server creates carries the count on, whichever
// operation creates it.
func TestEachOperationPassesTheCountOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, body, header string }{
		"publish":  {"/v2/publish/LAST", "x", ""},
		"enqueue":  {"/v2/enqueue/q/LAST", "x", ""},
		"batch":    {"/v2/batch", `[{"destination":"LAST","headers":{"Svc-Forward-Authorization":"Bearer TOKEN"}}]`, "Content-Type: application/json"},
		"schedule": {"/v2/schedules/LAST", "x", "Svc-Forward-Svc-Cron: * * * * *"},
		"group":    {"/v2/publish/g", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			sink := u.URL() + "/_understudy/sink/status/200"
			last := u.URL() + "/v2/publish/" + sink
			newClient(t, u).do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"url":"`+last+`"}]}`).ok()
			full := strings.NewReplacer("LAST", last, "TOKEN", u.Token()).Replace
			u.Publish(u.URL()+full(c.path), []byte(full(c.body)),
				"Svc-Forward-Authorization: Bearer "+u.Token(), "Svc-Forward-Svc-Forward-Authorization: Bearer "+u.Token(), cmp.Or(c.header, "X: y"))
			u.Settle()
			u.Advance(time.Minute)
			u.Settle()
			var counts []string
			for _, x := range u.Requests() {
				hops, _, _ := strings.Cut(x.Request.Header.Get("Understudy-Hops"), " ")
				counts = append(counts, hops)
			}
			for _, x := range u.Requests() {
				if w := x.Response.Header.Get("Svc-Warning"); w != "" {
					t.Errorf("%s was answered with the warning %q", x.Path, w)
				}
			}
			first := counts[:min(4, len(counts))]
			slices.Sort(first) // a request is listed when it has ended, which may be after those that it caused
			if want := []string{"", "", "1", "2"}; !slices.Equal(first, want) {
				t.Errorf("counts of the requests %q, want %q", counts, want)
			}
		})
	}
}

// The count never leaves the server, and what others send as one says nothing.
func TestTheCountIsForTheServerOnly(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	s := newSink(t, func(http.ResponseWriter, *http.Request) {})
	id := u.Publish(s.URL, nil, "Understudy-Hops: 999", "Svc-Forward-Understudy-Hops: 5", "Svc-Header-Forward: true", "Svc-Method: GET")
	own := u.Publish(u.URL()+"/_understudy/sink/status/200", nil, "Understudy-Hops: 999", "Svc-Forward-Understudy-Hops: 5")
	seen := map[string]string{}
	for _, d := range u.Deliveries() {
		seen[d.MessageID] = fmt.Sprint(d.Response.Status, d.Request.Header["Understudy-Hops"])
	}
	if requests, _ := s.got(); len(requests) != 1 || requests[0].Header.Get("Understudy-Hops") != "" {
		t.Errorf("the destination got %v", requests)
	}
	if seen[id] != "200 []" || seen[own] != "200 [1 "+own+"]" {
		t.Errorf("status and count of the foreign delivery %s, of the own %s; want 200 [] and 200 [1 %s]", seen[id], seen[own], own)
	}
}

// fanOut makes a URL group of n endpoints that publish to it.
func fanOut(u *mockserver.TestServer, c *client, n int) {
	c.t.Helper()
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"url":"%s/v2/publish/g?n=%d"}`, u.URL(), i)
	}
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[`+strings.Join(list, ",")+`]}`).ok()
	c.do("PATCH", "/v2/topics/g", fmt.Sprintf(`{"headers":{"Svc-Forward-Authorization":["Bearer %s"]}}`, u.Token())).ok()
}

func TestALoopWithFanOutEnds(t *testing.T) {
	t.Parallel()
	const most = 300
	for name, begin := range map[string]func(u *mockserver.TestServer, c *client){
		"through a publish": func(_ *mockserver.TestServer, c *client) { c.do("POST", "/v2/publish/g", "x").ok() },
		"through a queue":   func(_ *mockserver.TestServer, c *client) { c.do("POST", "/v2/enqueue/q/g", "x").ok() },
		"through a batch": func(_ *mockserver.TestServer, c *client) {
			c.do("POST", "/v2/batch", `[{"destination":"g"}]`).ok()
		},
		"through one message": func(u *mockserver.TestServer, c *client) {
			c.do("POST", "/v2/publish/"+u.URL()+"/v2/publish/g", "x", "Svc-Forward-Authorization: Bearer "+u.Token()).ok()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{MaxDescendants: most})
			c := newClient(t, u)
			fanOut(u, c, 5)
			begin(u, c)
			u.Settle()
			if n := len(u.Deliveries()); n > most+5 {
				t.Errorf("deliveries: got %d, want at most %d", n, most+5)
			}
			entry := c.do("GET", "/v2/dlq", "").ok()
			expect.Contains(t, "body of the response in the DLQ", entry.text("messages", 0, "responseBody"), "the limit is 300 (--max-descendants)")
			expect.Equal(t, "undelivered messages", len(c.do("GET", "/_understudy/messages?state=CREATED", "").ok().list("messages")), 0)
		})
	}
	t.Run("each publish has its own family", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{MaxDescendants: 1})
		c := newClient(t, u)
		last := "/v2/publish/" + u.URL() + "/v2/publish/" + u.URL() + "/_understudy/sink/status/200"
		for range 5 {
			c.do("POST", last, "x", "Svc-Forward-Authorization: Bearer "+u.Token()).ok()
		}
		u.Settle()
		expect.Equal(t, "DLQ entries", len(c.do("GET", "/v2/dlq", "").ok().list("messages")), 0)
	})
}

func TestAWholeFamilyIsCancelled(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Clock: "manual"})
	c := newClient(t, u)
	other := c.do("POST", "/v2/publish/https://e.test/", "x", "Svc-Delay: 1h").ok().text("messageId")
	delayed := u.URL() + "/v2/publish/https://e.test/child"
	child := func() string {
		id := c.do("POST", "/v2/publish/"+delayed, "x", "Svc-Forward-Authorization: Bearer "+u.Token(), "Svc-Forward-Svc-Delay: 1h").ok().text("messageId")
		u.Settle()
		return id
	}
	first, second := child(), child()
	cancelled := c.do("POST", "/_understudy/messages/"+first+"/cancel-family", "").ok()
	expect.Equal(t, "number of cancelled messages", cancelled.number("cancelled"), int64(1))
	left := c.do("GET", "/_understudy/messages?state=CREATED", "").ok()
	expect.Equal(t, "messages that are left", len(left.list("messages")), 2)
	expect.Contains(t, "messages that are left", string(left.raw), other)
	again := c.do("POST", "/_understudy/messages/"+left.text("messages", 0, "messageId")+"/cancel-family", "").ok()
	expect.Equal(t, "number of cancelled messages, by the id of a child", again.number("cancelled"), int64(1))
	expect.Equal(t, "number of cancelled messages of a family that has ended", c.do("POST", "/_understudy/messages/"+second+"/cancel-family", "").ok().number("cancelled"), int64(0))
	c.do("POST", "/_understudy/messages/none/cancel-family", "").refused(http.StatusNotFound, "none")
}
