package mockserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/origin"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// Run starts a stand-in and listens. Close stops it.
func Run(cfg Config) (*Server, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	addr := cfg.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	for _, a := range []string{addr, cfg.RegionAddr, cfg.ManagementAddr, cfg.VectorAddr} {
		if err := s.listen(a); err != nil {
			_ = s.Close() // the first error counts
			return nil, err
		}
	}
	if err := s.begin(cfg); err != nil {
		_ = s.Close() // the first error counts
		return nil, err
	}
	s.greetStore()
	for i, srv := range s.servers {
		s.serveOn(srv, s.own[i])
	}
	return s, nil
}

// begin restores the state to begin with, or else loads the fixtures, before
// the first request is read. A
// clock that the configuration names wins over that of the snapshot.
func (s *Server) begin(cfg Config) error {
	if cfg.Snapshot == nil {
		for _, f := range cfg.Fixtures {
			if err := s.Load(f); err != nil {
				return err
			}
			s.cfg.Log.Info("fixture loaded", "file", f.Name)
		}
		return nil
	}
	in, err := s.readSnapshot(cfg.Snapshot)
	if err != nil {
		return snapshotError{err}
	}
	for _, a := range in.accounts {
		if cfg.Clock != "" {
			a.state.Clock = cfg.Clock
		}
	}
	was, err := s.restore(in)
	for _, a := range was.Accounts {
		s.cfg.Log.Info("state restored", "account", a.ID, "clock", a.Clock, "at", a.Now.UTC(), "saved", was.SavedAt.UTC())
	}
	return err
}

// listen takes an address; an empty one shares the first listener. Requests
// wait until serveOn.
func (s *Server) listen(addr string) error {
	if addr == "" {
		s.listeners = append(s.listeners, s.listeners[0])
		return nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	srv := s.cfg.pace.Server(s)
	s.listeners = append(s.listeners, l)
	s.servers, s.own = append(s.servers, srv), append(s.own, l)
	return nil
}

// serveOn answers what comes in.
func (s *Server) serveOn(srv *http.Server, l net.Listener) {
	s.serving.Go(func() {
		if err := srv.Serve(s.cfg.pace.Listener(l, s.cfg.Log)); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Log.Error("listener ended", "address", l.Addr().String(), "error", err)
		}
	})
}

// Warnings are what the person who starts the server should know, each in one
// line: which listeners other machines reach, while a public token opens an
// account.
func (s *Server) Warnings() []string {
	var list []string
	for _, l := range s.own {
		if origin.LocalAddr(l.Addr().String()) {
			continue
		}
		for _, w := range s.tenants.All() {
			if w.Public {
				list = append(list, fmt.Sprintf("%s is reachable from other machines, and the token of account %q is public: everybody who reaches it can use the account; --account ID:TOKEN gives it a token of its own", l.Addr(), w.ID))
			}
		}
	}
	return list
}

// Duration reads a duration of the interface (1d12h) or of Go (1h30m, 250ms).
func Duration(s string) (time.Duration, error) { return response.Duration(s) }

// URL is where clients reach the messaging API.
func (s *Server) URL() string { return s.url(0) }

// RegionURL, ManagementURL and VectorURL are the other hosts.
func (s *Server) RegionURL() string { return s.url(1) }

// ManagementURL is where statistics and search indexes are.
func (s *Server) ManagementURL() string { return s.url(2) }

// VectorURL is where the vector index is.
func (s *Server) VectorURL() string { return s.url(3) }

// Now is the time of the default account, which Advance moves. The rate-limit
// plugin counts by it when it is the plugin's Config.Now.
func (s *Server) Now() time.Time { return s.tenants.First().Account.Now() }

// Token is the access token of the default account.
func (s *Server) Token() string { return s.tenants.First().Token }

// KVURL is where the key-value store of the rate-limit plugin is.
func (s *Server) KVURL() string { return s.URL() + kvPath }

// KVToken opens the key-value store of the default account.
func (s *Server) KVToken() string { return s.tenants.First().KVToken }

// EnvVar is an environment variable for clients.
type EnvVar struct{ Name, Value string }

// Env is what clients of the default account need, under our names and then
// under those of each dialect that the server speaks, with the development
// token and keys of that dialect.
func (s *Server) Env() []EnvVar { return s.env(s.tenants.First()) }

// env is the environment for clients of an account: names of ours first, then those
// that the published clients of each dialect read.
func (s *Server) env(w *tenant.Tenant) []EnvVar {
	current, next := w.Account.Keys()
	neutral := []EnvVar{
		{"URL", s.URL()},
		{"TOKEN", w.Token},
		{"CURRENT_SIGNING_KEY", current},
		{"NEXT_SIGNING_KEY", next},
		{"USER_ID", w.ID},
		{"REGION_URL", s.RegionURL()},
		{"MANAGEMENT_URL", s.ManagementURL()},
		{"MANAGEMENT_USERNAME", w.Username()},
		{"MANAGEMENT_PASSWORD", w.Password},
		{"VECTOR_URL", s.VectorURL()},
		{"VECTOR_TOKEN", w.VectorToken()},
		{"KV_URL", s.KVURL()},
		{"KV_TOKEN", w.KVToken},
	}
	neutral = append(neutral, s.vectorEnv(w)...)
	var all, brands []EnvVar
	for _, v := range neutral {
		all = append(all, EnvVar{"UNDERSTUDY_" + v.Name, s.tenants.Home().SigningKey(v.Value)})
	}
	for _, d := range s.tenants.Spoken() {
		for _, v := range neutral {
			value := d.SigningKey(v.Value)
			if v.Name == "TOKEN" {
				value = s.tenants.TokenOf(w, d)
			}
			if name := d.Env[v.Name]; name != "" {
				brands = append(brands, EnvVar{name, value})
			}
		}
	}
	return append(all, brands...)
}

// TestServer is a stand-in inside a test. Its helpers fail the test instead of
// returning errors.
type TestServer struct {
	*Server
	t TB
}

// TB is what a TestServer needs of a test. *testing.T has it; the package does
// not import testing, so that no program that embeds the server does.
type TB interface {
	Helper()
	Cleanup(do func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// testLimit is the real time that a helper of a test may take.
const testLimit = 30 * time.Second

// RunT starts a stand-in for one test: a port of its own, a manual clock. It is
// closed by t.Cleanup, and fails the test if an answer broke the document.
func RunT(t TB, cfg ...Config) *TestServer {
	t.Helper()
	c := Config{}
	if len(cfg) > 0 {
		c = cfg[0]
	}
	if c.Clock == "" {
		c.Clock = "manual"
	}
	s, err := Run(c)
	if err != nil {
		t.Fatalf("understudy: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("understudy: close: %v", err)
		}
		for _, v := range s.Violations() {
			t.Errorf("understudy: answer breaks the document: %s", v)
		}
	})
	return &TestServer{Server: s, t: t}
}

// Advance moves the clock of the default account, and returns when all that
// this caused has settled.
func (u *TestServer) Advance(d time.Duration) {
	u.t.Helper()
	a := u.tenants.First().Account
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	if _, err := a.Advance(ctx, a.Now().Add(d)); err != nil {
		u.t.Fatalf("understudy: advance %s: %v", d, err)
	}
}

// Settle waits until nothing is ready or in flight.
func (u *TestServer) Settle() {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	if err := u.tenants.First().Account.Settle(ctx); err != nil {
		u.t.Fatalf("understudy: settle: %v", err)
	}
}

// Deliveries are all attempts so far, oldest first, once nothing is in flight.
func (u *TestServer) Deliveries() []Delivery {
	u.t.Helper()
	u.Settle()
	list, _ := u.tenants.First().Deliveries.List(0, func(*Delivery) bool { return true })
	return list
}

// Requests are all requests to the interface so far, oldest first.
func (u *TestServer) Requests() []Exchange {
	list, _ := u.tenants.First().Requests.List(0, func(*Exchange) bool { return true })
	return list
}

// Stub lets a URL, in which * stands for anything, answer with the statuses in
// turn; the last repeats.
func (u *TestServer) Stub(url string, statuses ...int) {
	u.t.Helper()
	script := Stub{URL: url}
	for _, status := range statuses {
		script.Answers = append(script.Answers, Answer{Status: StubStatus(fmt.Sprint(status))})
	}
	u.Script(script)
}

// Script adds a stub with full answers, before those that are there.
func (u *TestServer) Script(script Stub) {
	u.t.Helper()
	if err := u.tenants.First().Stubs.Add(script); err != nil {
		u.t.Fatalf("understudy: %v", err)
	}
}

// Publish publishes over HTTP, as a client does, with "Name: value" headers,
// and returns the message id.
func (u *TestServer) Publish(destination string, body []byte, header ...string) string {
	u.t.Helper()
	h := http.Header{"Authorization": {"Bearer " + u.Token()}}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ":")
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	id, err := postPublish(u.ListensAt()+"/v2/publish/"+destination, h, body)
	if err != nil {
		u.t.Fatalf("understudy: publish to %s: %v", destination, err)
	}
	return id
}

// Message is a message that has not been delivered yet, as the engine has it.
func (u *TestServer) Message(id string) engine.Message {
	u.t.Helper()
	m, err := u.tenants.First().Account.Message(id)
	if err != nil {
		u.t.Fatalf("understudy: %v", err)
	}
	return m
}
