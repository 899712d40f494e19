package mockserver_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// visitor is a request as it would come from some address, without a network.
type visitor struct {
	method, path, from, host string
	header                   []string // "Name: value"
}

func (v visitor) ask(s http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(v.method, v.path, http.NoBody)
	r.RemoteAddr, r.Host = v.from, v.host
	for _, line := range v.header {
		name, value, _ := strings.Cut(line, ":")
		r.Header.Add(name, strings.TrimSpace(value))
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func quiet(t *testing.T, cfg mockserver.Config) *mockserver.Server {
	t.Helper()
	cfg.Clock = "manual"
	s, err := mockserver.New(cfg)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // it never listened
	return s
}

func TestTheControlAPIKnowsLoopback(t *testing.T) {
	t.Parallel()
	s := quiet(t, mockserver.Config{})
	for _, c := range []struct {
		from, host string
		want       int
	}{
		{"127.0.0.1:5000", "localhost:8080", 200},
		{"127.8.9.1:5000", "127.8.9.1:8080", 200},
		{"[::1]:5000", "[::1]:8080", 200},
		{"[::1]:5000", "[::1]", 200},
		{"[::ffff:127.0.0.1]:5000", "127.0.0.1", 200},
		{"127.0.0.1:5000", "LOCALHOST.:8080", 200},
		{"127.0.0.1:5000", "app.localhost", 200},
		{"[fe80::1%eth0]:5000", "localhost", 401},
		{"[fe80::1%lo]:5000", "[fe80::1%lo]:8080", 401},
		{"[fe80::1]:5000", "localhost", 401},
		{"[::ffff:192.0.2.1]:5000", "localhost", 401},
		{"192.0.2.1:5000", "localhost", 401},
		{"", "localhost", 401},
		{"@", "localhost", 401},
		{"pipe", "localhost", 401},
		{"127.0.0.1", "localhost", 401},
		{"127.0.0.1:5000", "example.com", 401},
		{"127.0.0.1:5000", "localhost.example.com", 401},
		{"127.0.0.1:5000", "127.0.0.1.example.com", 401},
		{"127.0.0.1:5000", "notlocalhost", 401},
		{"127.0.0.1:5000", "[fe80::1%25lo]:8080", 401},
		{"127.0.0.1:5000", "", 401},
	} {
		t.Run(c.from+" asks for "+c.host, func(t *testing.T) {
			t.Parallel()
			if w := (visitor{"GET", "/_understudy/clock", c.from, c.host, nil}).ask(s); w.Code != c.want {
				t.Errorf("got %d, want %d: %s", w.Code, c.want, w.Body)
			}
		})
	}
}

// TestAProxyOnThisMachineOpensNothing: a request that a proxy on this machine
// passes on comes from loopback, and its client may be anywhere.
func TestAProxyOnThisMachineOpensNothing(t *testing.T) {
	t.Parallel()
	open := quiet(t, mockserver.Config{})
	closed := quiet(t, mockserver.Config{ControlToken: "secret", ControlOpenOnLoopback: true})
	for _, header := range []string{
		"Forwarded: for=192.0.2.7", "X-Forwarded-For: 192.0.2.7", "x-forwarded-for: 127.0.0.1", "X-Forwarded-Host: localhost", "X-Forwarded-Proto: https",
		"X-Forwarded-Port: 443", "X-Forwarded-Prefix: /", "X-Real-IP: 192.0.2.7", "x-real-ip:", "Via: 1.1 proxy", "Forwarded:",
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/_understudy/clock", "/_understudy/", "/_understudy/ui/messages", "/_understudy/docs/", "/_understudy/metrics", "/_understudy/as/svcUser/v2/dlq", "/_understudy/accounts/svcUser"} {
				v := visitor{"GET", path, "127.0.0.1:5000", "localhost:8080", []string{header}}
				w := v.ask(open)
				expect.Equal(t, path+" without a control token", w.Code, http.StatusUnauthorized)
				name, _, _ := strings.Cut(header, ":")
				expect.Contains(t, "the reason", strings.ToLower(w.Body.String()), "header "+strings.ToLower(name))
				expect.Equal(t, path+" with an API that is open on loopback", v.ask(closed).Code, http.StatusUnauthorized)
				v.header = append(v.header, "Authorization: Bearer secret")
				expect.Equal(t, path+" with the token", v.ask(closed).Code, http.StatusOK)
			}
			sink := visitor{"POST", "/_understudy/sink/status/200", "127.0.0.1:5000", "localhost:8080", []string{header}}
			expect.Equal(t, "a sink", sink.ask(open).Code, http.StatusUnauthorized)
			probe := visitor{"GET", "/_understudy/readyz", "127.0.0.1:5000", "localhost:8080", []string{header}}
			expect.Equal(t, "a probe", probe.ask(open).Code, http.StatusOK)
			rebound := visitor{"GET", "/v2/queues", "127.0.0.1:5000", "evil.test", []string{"Authorization: Bearer " + open.Token(), header}}
			expect.Equal(t, "a page of a name that resolves to loopback, which can add the header", rebound.ask(open).Code, http.StatusForbidden)
		})
	}
}

// TestTheControlTokenIsNeededOnLoopback: programs of other users are on loopback as well.
func TestTheControlTokenIsNeededOnLoopback(t *testing.T) {
	t.Parallel()
	closed := quiet(t, mockserver.Config{ControlToken: "secret"})
	open := quiet(t, mockserver.Config{ControlToken: "secret", ControlOpenOnLoopback: true})
	for name, c := range map[string]struct {
		header       []string
		closed, open int
	}{
		"no token":        {nil, 401, 200},
		"a wrong token":   {[]string{"Authorization: Bearer guess"}, 401, 200},
		"the token":       {[]string{"Authorization: Bearer secret"}, 200, 200},
		"as the password": {[]string{"Authorization: Basic YW55Ym9keTpzZWNyZXQ="}, 200, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/_understudy/clock", "/_understudy/ui/messages"} {
				v := visitor{"GET", path, "127.0.0.1:5000", "localhost:8080", c.header}
				expect.Equal(t, path, v.ask(closed).Code, c.closed)
				expect.Equal(t, path+" with --control-open-on-loopback", v.ask(open).Code, c.open)
			}
		})
	}
}

// origins are values of Origin: those of loopback and of the server itself are
// welcome.
var origins = []struct {
	origin, host string
	welcome      bool
}{
	{"http://localhost:3000", "localhost:8080", true},
	{"http://127.0.0.1:3000", "localhost:8080", true},
	{"https://localhost", "localhost:8080", true},
	{"http://[::1]:3000", "localhost:8080", true},
	{"HTTP://LOCALHOST.:3000", "localhost:8080", true},
	{"http://app.localhost:5173", "127.0.0.1:8080", true},
	{"http://192.0.2.9:8080", "192.0.2.9:8080", true},
	{"http://192.0.2.9", "192.0.2.9", true},
	{"http://[2001:db8::9]:8080", "[2001:db8::9]:8080", true},
	{"http://192.0.2.9:8080", "192.0.2.9:9090", false},
	{"http://192.0.2.9", "192.0.2.9:8080", false},
	{"http://192.0.2.10:8080", "192.0.2.9:8080", false},
	{"null", "localhost:8080", false},
	{"", "localhost:8080", false},
	{"http://evil.test", "localhost:8080", false},
	{"http://evil.test:8080", "localhost:8080", false},
	{"http://localhost.evil.test", "localhost:8080", false},
	{"http://localhost@evil.test", "localhost:8080", false},
	{"http://localhost:99999", "localhost:8080", false},
	{"http://localhost:8080x", "localhost:8080", false},
	{"http://localhost/path", "localhost:8080", false},
	{"file://", "localhost:8080", false},
	{"chrome-extension://abcdef", "localhost:8080", false},
	{"localhost:3000", "localhost:8080", false},
	{"http://[fe80::1%25eth0]:8080", "localhost:8080", false},
	{"http://", "localhost:8080", false},
	{"http://127.0.0.1.evil.test:8080", "127.0.0.1:8080", false},
}

func TestPagesOfOtherSites(t *testing.T) {
	t.Parallel()
	dialect, err := spec.LoadDialect("svc")
	expect.NoError(t, err)
	public := quiet(t, mockserver.Config{ControlToken: "secret", ControlOpenOnLoopback: true, Outbound: "stub-only"})
	private := quiet(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "own", Token: "own-token"}}})
	code := func(welcome bool) int {
		if welcome {
			return http.StatusOK
		}
		return http.StatusForbidden
	}
	bearer := "Authorization: Bearer " + dialect.Token
	for _, c := range origins {
		t.Run("origin "+c.origin+" at "+c.host, func(t *testing.T) {
			t.Parallel()
			origin := "Origin: " + c.origin
			if w := (visitor{"GET", "/v2/queues", "192.0.2.7:5000", c.host, []string{bearer, origin}}).ask(public); w.Code != code(c.welcome) {
				t.Errorf("the API with the public token: %d, want %d: %s", w.Code, code(c.welcome), w.Body)
			}
			if w := (visitor{"GET", "/v2/publish/https://e.test/?svc_token=" + dialect.Token, "192.0.2.7:5000", c.host, []string{origin}}).ask(public); w.Code != code(c.welcome) {
				t.Errorf("the API with the public token in the query: %d, want %d", w.Code, code(c.welcome))
			}
			if w := (visitor{"GET", "/v2/queues", "192.0.2.7:5000", c.host, []string{"Authorization: Bearer own-token", origin}}).ask(private); w.Code != http.StatusOK {
				t.Errorf("the API with a token of its own: %d", w.Code)
			}
			if w := (visitor{"POST", "/_understudy/reset", "192.0.2.7:5000", c.host, []string{"Authorization: Bearer secret", origin}}).ask(public); w.Code != code(c.welcome) {
				t.Errorf("the control API: %d, want %d", w.Code, code(c.welcome))
			}
		})
	}
}

// TestRequestsOfBrowsers: what a browser says of a request decides beside its
// origin.
func TestRequestsOfBrowsers(t *testing.T) {
	t.Parallel()
	dialect, err := spec.LoadDialect("svc")
	expect.NoError(t, err)
	public := quiet(t, mockserver.Config{ControlToken: "secret", ControlOpenOnLoopback: true, Outbound: "stub-only"})
	bearer := "Authorization: Bearer " + dialect.Token
	for name, c := range map[string]struct {
		header []string
		want   int
	}{
		"no header at all":                            {nil, 200},
		"a second origin":                             {[]string{"Origin: http://localhost", "Origin: http://evil.test"}, 403},
		"an origin of loopback, cross-site":           {[]string{"Origin: http://localhost:3000", "Sec-Fetch-Site: cross-site"}, 200},
		"another site's picture":                      {[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		"another site's picture, with its page":       {[]string{"Sec-Fetch-Site: cross-site", "Referer: https://evil.test/page"}, 403},
		"another site's picture over plain HTTP":      {[]string{"Referer: http://evil.test/"}, 403},
		"a link from another site":                    {[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 403},
		"a picture of a page on loopback":             {[]string{"Sec-Fetch-Site: same-site", "Referer: http://localhost:3000/page"}, 200},
		"the server's own page":                       {[]string{"Sec-Fetch-Site: same-origin", "Referer: http://localhost:8080/_understudy/"}, 200},
		"the address line of a browser":               {[]string{"Sec-Fetch-Site: none"}, 200},
		"what a client outside of browsers may send":  {[]string{"Sec-Fetch-Mode: cors"}, 200},
		"the origin of the page is not to be trusted": {[]string{"Origin: null", "Sec-Fetch-Site: same-origin"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if w := (visitor{"GET", "/v2/queues", "127.0.0.1:5000", "localhost:8080", append([]string{bearer}, c.header...)}).ask(public); w.Code != c.want {
				t.Errorf("the API: %d, want %d: %s", w.Code, c.want, w.Body)
			}
			if w := (visitor{"GET", "/_understudy/clock", "127.0.0.1:5000", "localhost:8080", c.header}).ask(public); w.Code != c.want {
				t.Errorf("the control API: %d, want %d: %s", w.Code, c.want, w.Body)
			}
		})
	}
	t.Run("a link to the page over plain HTTP", func(t *testing.T) {
		t.Parallel()
		if w := (visitor{"GET", "/_understudy/", "127.0.0.1:5000", "localhost:8080", []string{"Referer: http://wiki.test/"}}).ask(public); w.Code != http.StatusOK {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
	})
	t.Run("other credentials of a public account are public", func(t *testing.T) {
		t.Parallel()
		s := mockserver.RunT(t)
		for path, token := range map[string]string{"/info": env(s, "VECTOR_TOKEN"), "/kv/get/x": s.KVToken()} {
			v := visitor{"GET", path, "127.0.0.1:5000", "localhost:8080", []string{"Authorization: Bearer " + token}}
			if w := v.ask(s); w.Code != http.StatusOK {
				t.Errorf("%s: %d: %s", path, w.Code, w.Body)
			}
			v.header = append(v.header, "Origin: http://evil.test")
			if w := v.ask(s); w.Code != http.StatusForbidden {
				t.Errorf("%s from another site: %d", path, w.Code)
			}
		}
	})
	t.Run("a token that follows from the account's name is public", func(t *testing.T) {
		t.Parallel()
		s := mockserver.RunT(t)
		token := newClient(t, s).do("PUT", "/_understudy/accounts/team", "").ok().text("token")
		if w := (visitor{"GET", "/v2/queues", "127.0.0.1:5000", "localhost", []string{"Authorization: Bearer " + token, "Origin: http://evil.test"}}).ask(s); w.Code != http.StatusForbidden {
			t.Errorf("%d", w.Code)
		}
	})
}

// env is a variable of the default account.
func env(s *mockserver.TestServer, name string) string {
	for _, v := range s.Env() {
		if v.Name == "UNDERSTUDY_"+name {
			return v.Value
		}
	}
	return ""
}

// TestRebinding: a page whose name leads to loopback must not use the public
// token there.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s := quiet(t, mockserver.Config{Addr: "mock.corp.example:8080"})
	machine, err := os.Hostname()
	expect.NoError(t, err)
	dialect, err := spec.LoadDialect("svc")
	expect.NoError(t, err)
	for _, c := range []struct {
		from, host string
		want       int
	}{
		{"127.0.0.1:5000", "evil.test:8080", 403},
		{"[::1]:5000", "EVIL.example.com.", 403},
		{"127.0.0.1:5000", "example.com", 403},
		{"127.0.0.1:5000", "127.0.0.1.evil.test", 403},
		{"127.0.0.1:5000", "host.docker.internal:8080", 200},
		{"127.0.0.1:5000", "Mock.Corp.Example:8080", 200},
		{"127.0.0.1:5000", machine, 200},
		{"127.0.0.1:5000", "192.0.2.1:8080", 200},
		{"127.0.0.1:5000", "[::1]:8080", 200},
		{"127.0.0.1:5000", "localhost.:8080", 200},
		{"192.0.2.7:5000", "devbox.corp.example:8080", 200},
	} {
		t.Run(c.from+" asks for "+c.host, func(t *testing.T) {
			t.Parallel()
			if w := (visitor{"GET", "/v2/queues", c.from, c.host, []string{"Authorization: Bearer " + dialect.Token}}).ask(s); w.Code != c.want {
				t.Errorf("got %d, want %d: %s", w.Code, c.want, w.Body)
			}
		})
	}
}

// TestSinksOffLoopback: deliveries of the server reach them over any of its
// addresses; from elsewhere, a token is needed.
func TestSinksOffLoopback(t *testing.T) {
	t.Parallel()
	s := quiet(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "own", Token: "own-token"}}, ControlToken: "secret"})
	for _, c := range []struct {
		name, from string
		header     []string
		want       int
	}{
		{"a program on this machine", "127.0.0.1:5000", nil, 200},
		{"a program elsewhere", "192.0.2.7:5000", nil, 401},
		{"a neighbour", "[fe80::1%eth0]:5000", nil, 401},
		{"what looks like a delivery", "192.0.2.7:5000", []string{"Svc-Message-Id: msg_1", "Svc-Signature: x", "Understudy-Hops: 1"}, 401},
		{"the token of an account", "192.0.2.7:5000", []string{"Authorization: Bearer own-token"}, 200},
		{"the control token", "192.0.2.7:5000", []string{"Authorization: Bearer secret"}, 200},
		{"a wrong token", "192.0.2.7:5000", []string{"Authorization: Bearer guess"}, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/_understudy/sink/status/200", "/_understudy/sink/slow/0s", "/_understudy/sink/flaky/0"} {
				if w := (visitor{"POST", path, c.from, "understudy:8080", c.header}).ask(s); w.Code != c.want {
					t.Errorf("%s: got %d, want %d: %s", path, w.Code, c.want, w.Body)
				}
			}
		})
	}
	t.Run("a delivery of the server over another address of the machine", func(t *testing.T) {
		t.Parallel()
		address := otherAddress(t)
		u := mockserver.RunT(t, mockserver.Config{Addr: "0.0.0.0:0"})
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(u.URL(), "http://"))
		u.Publish("http://"+net.JoinHostPort(address, port)+"/_understudy/sink/status/200", []byte("x"))
		list := u.Deliveries()
		if expect.Equal(t, "number of deliveries", len(list), 1) {
			if got := list[0].Response.Status; got != http.StatusOK {
				t.Errorf("the status of the delivery: got %d in %+v, want %d", got, list[0], http.StatusOK)
			}
		}
	})
}

// otherAddress is an address of this machine beside loopback.
func otherAddress(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	expect.NoError(t, err)
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback")
	return ""
}
