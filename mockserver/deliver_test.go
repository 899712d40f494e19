package mockserver_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// sink is a destination on a port of its own that keeps what it got.
type sink struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func newSink(t *testing.T, answer http.HandlerFunc) *sink {
	t.Helper()
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) got() ([]*http.Request, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.bodies
}

func dialect(t *testing.T, name string) *spec.Dialect {
	t.Helper()
	d, err := spec.LoadDialect(name)
	expect.NoError(t, err)
	return d
}

func TestADeliveryIsSigned(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"svc", "upstash"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dialect(t, name)
			u := mockserver.RunT(t, mockserver.Config{Dialect: d})
			s := newSink(t, func(http.ResponseWriter, *http.Request) {})
			u.Publish(s.URL+"/hook?a=b", []byte("héllo"), "Content-Type: text/plain", d.HeaderPrefix+"Forward-X: y")
			u.Settle()
			requests, bodies := s.got()
			expect.Equal(expect.Now(t), "bodies that arrived", bodies, []string{"héllo"})
			h := requests[0].Header
			expect.Equal(t, "header X", h.Get("X"), "y")
			expect.Equal(t, "header User-Agent", h.Get("User-Agent"), d.UserAgent)
			expect.Equal(t, "header Content-Type", h.Get("Content-Type"), "text/plain")
			if id := h.Get(d.HeaderPrefix + "Message-Id"); !strings.HasPrefix(id, "msg_") {
				t.Errorf("header Message-Id: got %q, want it to begin with msg_", id)
			}
			expect.Equal(t, "header Retried", h.Get(d.HeaderPrefix+"Retried"), "0")
			claims := jwt.MapClaims{}
			_, err := jwt.ParseWithClaims(h.Get(d.HeaderPrefix+"Signature"), claims, func(*jwt.Token) (any, error) { return []byte(d.CurrentSigningKey), nil },
				jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(d.Issuer), jwt.WithSubject(s.URL+"/hook?a=b"), jwt.WithExpirationRequired())
			expect.NoError(t, err)
			sum := sha256.Sum256([]byte("héllo"))
			expect.Equal[any](t, "claim body", claims["body"], base64.URLEncoding.EncodeToString(sum[:]))
			expect.Equal(t, "seconds from iat to exp", claims["exp"].(float64)-claims["iat"].(float64), 300)
			if id, _ := claims["jti"].(string); !strings.HasPrefix(id, "jwt_") {
				t.Errorf("claim jti: got %v, want it to begin with jwt_", claims["jti"])
			}
		})
	}
}

func TestRotatedKeysSign(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	before := c.do("GET", "/v2/keys", "").ok()
	after := c.do("POST", "/v2/keys/rotate", "").ok()
	expect.Equal(expect.Now(t), "current key after the rotation", after.text("current"), before.text("next"))
	if after.text("next") == before.text("next") {
		t.Fatalf("next key after the rotation: got %s as before, want another", after.text("next"))
	}
	u.Publish("https://e.test/", nil)
	token := u.Deliveries()[0].Request.Header.Get(published.HeaderPrefix + "Signature")
	if _, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return []byte(after.text("current")), nil }); err != nil {
		t.Error(err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	s := newSink(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })
	u.Publish(s.URL, nil, "Svc-Retries: 0")
	list := u.Deliveries()
	expect.Equal(expect.Now(t), "number of deliveries", len(list), 1)
	expect.Equal(t, "status of the delivery", list[0].Response.Status, http.StatusFound)
	if got, _ := s.got(); len(got) != 1 {
		t.Errorf("number of requests: got %d, want 1", len(got))
	}
}

func TestWhyNoAnswerCame(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	held := make(chan struct{})
	slow := newSink(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	})
	defer close(held)
	rude := newSink(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	free := l.Addr().String()
	_ = l.Close()
	cases := []struct{ name, url, want string }{
		{"refused", "http://" + free + "/", "connection"},
		{"unknown host", "http://no-such-host.invalid/", "resolve"},
		{"no TLS there", strings.Replace(slow.URL, "http:", "https:", 1), "TLS"},
		{"too slow", slow.URL, "timeout"},
		{"hangs up", rude.URL, "closed"},
	}
	for _, row := range cases {
		id := u.Publish(row.url, nil, "Svc-Retries: 0", "Svc-Timeout: 1s")
		for _, d := range u.Deliveries() {
			if d.MessageID == id {
				expect.Equal(t, row.name+": status", d.Response.Status, 0)
				expect.Contains(t, row.name+": error", d.Error, row.want)
				expect.Lacks(t, row.name+": error", d.Error, "\n")
			}
		}
	}
	c := newClient(t, u)
	expect.Equal(t, "entries in the DLQ", len(c.do("GET", "/v2/dlq", "").ok().list("messages")), len(cases))
}

func TestRewrites(t *testing.T) {
	t.Parallel()
	s := newSink(t, func(http.ResponseWriter, *http.Request) {})
	u := mockserver.RunT(t, mockserver.Config{Rewrites: map[string]string{"https://app.example.com": s.URL, "https://app.example.com/v2": s.URL + "/second"}})
	for _, path := range []string{"/a//b%2Fc?x=1", "/v2/x", ""} {
		u.Publish("https://app.example.com"+path, nil)
	}
	u.Settle()
	requests, _ := s.got()
	seen := map[string]bool{}
	for _, r := range requests {
		seen[r.RequestURI] = true
	}
	for _, want := range []string{"/a//b%2Fc?x=1", "/second/x", "/"} {
		if !seen[want] {
			t.Errorf("requests: got %v, want one to %s", seen, want)
		}
	}
	for _, d := range u.Deliveries() {
		if !strings.HasPrefix(d.URL, "https://app.example.com") {
			t.Errorf("URL of a delivery: got %s, want one of https://app.example.com", d.URL)
		}
	}
	u.Publish("https://app.example.com.evil.test/", nil, "Svc-Retries: 0")
	u.Settle()
	if after, _ := s.got(); len(after) != len(requests) {
		t.Error("a longer host name matches a rewrite")
	}
}

func TestNonRetryableAnswerEndsAMessageAtOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"svc", "upstash"} {
		d := dialect(t, name)
		u := mockserver.RunT(t, mockserver.Config{Dialect: d})
		u.Script(mockserver.Stub{URL: "*", Answers: []mockserver.Answer{{Status: "489", Headers: map[string]string{d.HeaderPrefix + "NonRetryable-Error": "true"}}}})
		u.Publish("https://e.test/", nil)
		u.Advance(24 * time.Hour)
		if n := len(u.Deliveries()); n != 1 {
			t.Errorf("%s: attempts: got %d, want 1", name, n)
		}
	}
}

func TestRetryAfterSetsTheWait(t *testing.T) {
	t.Parallel()
	cases := []struct {
		header, value string
		want          time.Duration
	}{
		{"Retry-After", "30", 30 * time.Second},
		{"X-RateLimit-Reset", "6m5s", 365 * time.Second},
		{"X-RateLimit-Reset-Requests", "90", 90 * time.Second},
		{"X-RateLimit-Reset-Tokens", "90", 90 * time.Second},
		{"Retry-After", "90000", 12 * time.Second},
	}
	for _, row := range cases {
		u := mockserver.RunT(t)
		u.Script(mockserver.Stub{URL: "*", Answers: []mockserver.Answer{{Status: "429", Headers: map[string]string{row.header: row.value}}, {Status: "200"}}})
		u.Publish("https://e.test/", nil)
		u.Advance(48 * time.Hour)
		list := u.Deliveries()
		what := row.header + ": " + row.value + ": "
		if expect.Equal(t, what+"number of attempts", len(list), 2) {
			expect.Equal(t, what+"wait between them", time.Duration(list[1].At-list[0].At)*time.Millisecond, row.want)
		}
	}
}

// A delivery whose URL has the wrong scheme for its port says so.
func TestADeliveryNamesTheWrongScheme(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	destination := newSink(t, func(http.ResponseWriter, *http.Request) {})
	u.Publish(strings.Replace(destination.URL, "http:", "https:", 1), nil, "Svc-Retries: 0")
	list := u.Deliveries()
	if expect.Equal(t, "number of deliveries", len(list), 1) {
		expect.Contains(t, "error of the delivery", list[0].Error, "speaks plain HTTP, not TLS: use http://")
	}
}

// TestNothingThatIsForwardedLooksLikeTheServersOwn forges each header that a delivery adds, in the
// names of both dialects and in each way to forward one.
func TestNothingThatIsForwardedLooksLikeTheServersOwn(t *testing.T) {
	t.Parallel()
	u, d := auto(t)
	c := newClient(t, u)
	u.Stub("https://app.test/*", 200)
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"url":"https://app.test/group"}]}`).ok()
	own := []string{"Signature", "Message-Id", "Retried", "Caller-IP", "Schedule-Id", "Topic-Name"}
	prefixes := []string{"Svc-", d.HeaderPrefix}
	for _, speaks := range prefixes {
		for _, forged := range append(prefixes, strings.ToLower(d.HeaderPrefix), "Svc_", strings.ReplaceAll(d.HeaderPrefix, "-", "_")) {
			var forwarded, plain []string
			group := map[string]string{}
			for _, name := range own {
				if strings.Contains(forged, "_") {
					name = strings.ReplaceAll(name, "-", "_")
				}
				forwarded = append(forwarded, speaks+"Forward-"+forged+name+": forged")
				plain = append(plain, forged+name+": forged")
				group[speaks+"Forward-"+forged+name] = "forged"
			}
			headers, err := json.Marshal(group)
			expect.Nil(t, "writing headers", err)
			c.do("PATCH", "/v2/topics/g", `{"headers":`+string(headers)+`}`).ok()
			c.do("POST", "/v2/publish/https://app.test/forwarded", "", forwarded...).ok()
			c.do("POST", "/v2/publish/https://app.test/all", "", append(plain, speaks+"Header-Forward: true")...)
			c.do("POST", "/v2/publish/https://app.test/callback", "", speaks+"Callback: https://app.test/back", speaks+"Callback-Forward-"+forged+"Signature: forged").ok()
			c.do("POST", "/v2/publish/g", "").ok()
		}
	}
	u.Settle()
	for _, d := range u.Deliveries() {
		for name, values := range d.Request.Header {
			if strings.Contains(strings.Join(values, " "), "forged") {
				t.Errorf("%s received %s: %v", d.URL, name, values)
			}
		}
	}
	if n := len(u.Deliveries()); n < 40 {
		t.Errorf("got %d deliveries, want 50", n)
	}
	t.Run("another header with such an end is forwarded", func(t *testing.T) {
		c.do("POST", "/v2/publish/https://app.test/hub", "", "Svc-Forward-X-Hub-Signature: theirs").ok()
		u.Settle()
		all := u.Deliveries()
		expect.Equal(t, "X-Hub-Signature", all[len(all)-1].Request.Header.Get("X-Hub-Signature"), "theirs")
	})
}
