package mockserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/gate/origin"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec"
	paths "github.com/understudy-mock/understudy/spec/route"
)

// Run starts a stand-in that listens on Config.Addr. Close stops it. The error
// wraps ErrSnapshot when Config.Snapshot cannot be restored.
func Run(cfg Config) (*Server, error) {
	s, open, err := prepareServer(cfg)
	if err != nil {
		return nil, err
	}
	addr := cfg.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	for _, a := range [][2]string{{"addr", addr}, {"listen-region", cfg.RegionAddr}, {"listen-management", cfg.ManagementAddr}, {"listen-vector", cfg.VectorAddr}} {
		if err := s.listen(a[0], a[1]); err != nil {
			_ = s.Close() // the first error counts
			return nil, err
		}
	}
	early := cfg.Store != nil && cfg.Fleet == nil // reading its data may take long
	if early {
		s.serveAll()
	}
	if err := open(); err != nil {
		_ = s.Close() // the first error counts
		return nil, err
	}
	if err := s.fleet.Join(s.URL()); err != nil {
		_ = s.Close() // the first error counts
		return nil, err
	}
	if err := s.begin(cfg); err != nil {
		_ = s.Close() // the first error counts
		return nil, err
	}
	s.fleet.Serve()
	s.greetStore()
	s.opened.Store(true)
	s.tenants.Begin()
	if !early {
		s.serveAll()
	}
	return s, nil
}

// serveAll serves the connections of all listeners until Close.
func (s *Server) serveAll() {
	for i, srv := range s.servers {
		s.serveOn(srv, s.own[i])
	}
}

// begin restores the initial state, or otherwise loads the fixtures, before the
// first request is read. A clock mode in the configuration takes precedence
// over that of the snapshot.
func (s *Server) begin(cfg Config) error {
	if s.tenants.Resumed() {
		return nil
	}
	if cfg.Snapshot == nil {
		for _, f := range cfg.Fixtures {
			if err := s.Load(f); err != nil {
				return err
			}
			s.cfg.Log.Info("fixture loaded", "file", f.Name)
		}
		return nil
	}
	was, err := s.states.RestoreFirst(cfg.Snapshot, cfg.Clock)
	for _, a := range was.Accounts {
		s.cfg.Log.Info("state restored", "account", a.ID, "clock", a.Clock, "at", a.Now.UTC(), "saved", was.SavedAt.UTC())
	}
	return err
}

// listen opens a listener; an empty address shares the first one. Connections
// wait in the backlog until serveOn accepts them. An error has the name of the setting.
func (s *Server) listen(setting, addr string) error {
	if addr == "" {
		s.listeners = append(s.listeners, s.listeners[0])
		return nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		if wrong, ok := errors.AsType[*net.AddrError](err); ok {
			return fmt.Errorf("%s: invalid value %q: must be HOST:PORT, with port 0 for a free one (%s)", setting, addr, wrong.Err)
		}
		return fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	srv := s.cfg.pace.Server(s)
	s.listeners = append(s.listeners, l)
	s.servers, s.own = append(s.servers, srv), append(s.own, l)
	return nil
}

// serveOn serves the connections of a listener until Close.
func (s *Server) serveOn(srv *http.Server, l net.Listener) {
	s.serving.Go(func() {
		if err := srv.Serve(s.cfg.pace.Listener(l, s.cfg.TLS, s.cfg.Log)); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Log.Error("listener ended", "address", l.Addr().String(), "error", err)
		}
	})
}

// Warnings are one-line warnings for the person who starts the server: clocks that are ahead
// of the clock of this machine, listeners that other machines reach while a published token
// opens an account, and a control API that a proxy may open to everyone.
func (s *Server) Warnings() []string {
	list := s.clocksAhead()
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
	if s.cfg.controlNeedsToken() || !s.behindProxy() {
		return list
	}
	return append(list, fmt.Sprintf("%s is not the address that the server listens at, %s: a proxy on this machine opens the control API and the page to everyone, unless it sends X-Forwarded-For; --control-token T closes them", s.cfg.Advertise, s.ListensAt()))
}

// clocksAhead is the warning for accounts in real time whose clock is ahead of this machine's.
func (s *Server) clocksAhead() []string {
	var furthest, wall, n = "", s.wall.Now(), 0
	var most time.Duration
	for _, w := range s.tenants.All() {
		ahead := w.Account.Now().Sub(wall).Truncate(time.Second)
		if ahead <= 0 || s.tenants.Mode(w) != "real" {
			continue
		}
		if n++; ahead > most {
			furthest, most = w.ID, ahead
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("account %q: its clock is %s ahead of the clock of this machine; to set it right and lose nothing: understudy ctl clock --correct --account %s", furthest, most, furthest)}
	}
	return []string{fmt.Sprintf("accounts with a clock that is ahead of the clock of this machine: %d, by up to %s (account %q); to set all right and lose nothing: understudy ctl clock --correct --account '*'", n, most, furthest)}
}

// behindProxy reports whether the advertised address shows that clients on other
// machines reach the server through something else: its name, and a port or a
// protocol that no listener of the server has there.
func (s *Server) behindProxy() bool {
	at := s.cfg.Advertise
	if at == nil || len(s.own) == 0 || origin.LocalHost(at.Host) {
		return false
	}
	own := s.own[0].Addr()
	_, port, _ := net.SplitHostPort(own.String())
	return origin.LocalAddr(own.String()) || at.Scheme != s.cfg.scheme() || cmp.Or(at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme]) != port
}

// controlNeedsToken reports whether callers on this machine need the control token, too.
func (c *Config) controlNeedsToken() bool { return c.ControlToken != "" && !c.ControlOpenOnLoopback }

// Duration reads a duration of the interface (1d12h) or of Go (1h30m, 250ms).
func Duration(s string) (time.Duration, error) { return response.Duration(s) }

// URL is the base URL of the messaging API for clients, without a slash at its
// end.
func (s *Server) URL() string { return s.url(0) }

// RegionURL is the base URL of the host that serves a region. It is that of URL
// unless Config.RegionAddr has its own listener.
func (s *Server) RegionURL() string { return s.url(1) }

// ManagementURL is the base URL of statistics and search indexes.
func (s *Server) ManagementURL() string { return s.url(2) }

// VectorURL is the base URL of the vector index; the token selects the index.
func (s *Server) VectorURL() string { return s.url(3) }

// Now is the time of the default account's clock, which Advance moves. Pass it
// as Config.Now of the rate-limit plugin to make the plugin use that clock.
func (s *Server) Now() time.Time { return s.tenants.First().Account.Now() }

// Token is the access token of the default account.
func (s *Server) Token() string { return s.tenants.First().Token }

// KVURL is the URL of the key-value store of the rate-limit plugin.
func (s *Server) KVURL() string { return s.URL() + kvPath }

// KVToken is the token of the default account's key-value store.
func (s *Server) KVToken() string { return s.tenants.First().KVToken }

// EnvVar is an environment variable for clients.
type EnvVar struct{ Name, Value string }

// Env is the environment for clients of the default account: the variables of
// Understudy, then those that the clients of each dialect read, with the
// development token and keys of that dialect.
func (s *Server) Env() []EnvVar { return s.env(s.tenants.First()) }

// env is the environment for clients of an account: this server's names first, then those
// that the published clients of each dialect read.
func (s *Server) env(w *tenant.Tenant) []EnvVar {
	current, next := s.tenants.Keys(w)
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
	if s.cfg.CAFile != "" {
		neutral = append(neutral, EnvVar{"CA_FILE", s.cfg.CAFile})
	}
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

// TestServer is a stand-in for one test. Its methods fail the test instead of
// returning errors.
type TestServer struct {
	*Server
	t TB
}

// TB is the part of testing.TB that a TestServer uses; *testing.T implements
// it. The package does not import testing, so that programs that embed the
// server do not link it.
type TB interface {
	Helper()
	Cleanup(do func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// testLimit is the real time after which a method of TestServer fails the test.
const testLimit = 30 * time.Second

// RunT starts a stand-in for one test, on a free port and with a manual clock
// unless cfg names another. t.Cleanup closes it, and fails the test if an
// answer of the stand-in violated the OpenAPI document.
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

// Advance moves the clock of the default account, and returns when all
// deliveries that become due have ended.
func (u *TestServer) Advance(d time.Duration) {
	u.t.Helper()
	a := u.tenants.First().Account
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	if _, err := a.Advance(ctx, a.Now().Add(d)); err != nil {
		u.t.Fatalf("understudy: advance %s: %v", d, err)
	}
}

// Settle waits until no attempt of the default account is ready or in flight.
func (u *TestServer) Settle() {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	if err := u.tenants.First().Account.Settle(ctx); err != nil {
		u.t.Fatalf("understudy: settle: %v", err)
	}
}

// Deliveries waits until nothing is in flight, and returns all attempts so far,
// oldest first.
func (u *TestServer) Deliveries() []Delivery {
	u.t.Helper()
	u.Settle()
	list, _ := u.tenants.First().Deliveries.List(0, traffic.Filter{})
	return list
}

// Requests are all requests to the interface so far, oldest first.
func (u *TestServer) Requests() []Exchange {
	list, _ := u.tenants.First().Requests.List(0, traffic.Filter{})
	return list
}

// Stub makes a URL, in which * matches any text, answer with the statuses in
// order; the last one repeats.
func (u *TestServer) Stub(url string, statuses ...int) {
	u.t.Helper()
	script := Stub{URL: url}
	for _, status := range statuses {
		script.Answers = append(script.Answers, Answer{Status: StubStatus(fmt.Sprint(status))})
	}
	u.Script(script)
}

// Script adds a stub with complete answers. It takes precedence over the stubs
// that exist.
func (u *TestServer) Script(script Stub) {
	u.t.Helper()
	first := u.tenants.First()
	err := first.Stubs.Add(script)
	if err == nil {
		err = u.tenants.Keep(context.Background(), first)
	}
	if err != nil {
		u.t.Fatalf("understudy: %v", err)
	}
}

// Publish publishes over HTTP, as a client does, with headers in the form
// "Name: value", and returns the message id.
func (u *TestServer) Publish(destination string, body []byte, header ...string) string {
	u.t.Helper()
	h := http.Header{"Authorization": {"Bearer " + u.Token()}}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ":")
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	id, err := postPublish(localClient(u.Server), u.ListensAt()+"/v2/publish/"+destination, h, body)
	if err != nil {
		u.t.Fatalf("understudy: publish to %s: %v", destination, err)
	}
	return id
}

// Message returns the engine's record of a message that has not ended; for an
// unknown id, or after the end, it fails the test.
func (u *TestServer) Message(id string) engine.Message {
	u.t.Helper()
	m, err := u.tenants.First().Account.Message(id)
	if err != nil {
		u.t.Fatalf("understudy: %v", err)
	}
	return m
}

// hostNames are the host names, besides those of loopback, that clients on this
// machine may use: the name of the machine, the hosts of the listeners, and the
// advertised host.
func hostNames(cfg *Config) []string {
	var names []string
	if name, err := os.Hostname(); err == nil {
		names = append(names, origin.HostName(name))
	}
	for _, address := range []string{cfg.Addr, cfg.RegionAddr, cfg.ManagementAddr, cfg.VectorAddr} {
		names = append(names, origin.HostName(address))
	}
	if cfg.Advertise != nil {
		names = append(names, origin.HostName(cfg.Advertise.Host))
	}
	return names
}

// starting answers requests while the server reads the data of its accounts: it is alive, but
// not ready.
func (s *Server) starting(w http.ResponseWriter, r *http.Request) {
	doing := "it opens the data of its accounts"
	if said := s.trouble.Load(); said != nil && *said != "" {
		doing = *said
	}
	reason := "the server is starting: " + doing + "; repeat the request later"
	out := response.Failure(response.NotReady(reason)).Response(r, false)
	if body := s.probed(r); body != nil {
		out = response.Response{Status: http.StatusOK, Body: body}
	}
	body, _ := out.Encode() // of plain values: cannot fail
	maps.Copy(w.Header(), out.Header)
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(out.Status)
	_, _ = w.Write(body) //nolint:gosec // JSON, by its type; the client may have disconnected
}

// probed is the answer to the probes for a server that is alive; nil for other requests.
func (s *Server) probed(r *http.Request) any {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return nil
	case r.URL.Path == paths.ControlLivez.Path():
		return map[string]string{"status": "ok"}
	case r.URL.Path == paths.ControlHealth.Path():
		return map[string]any{
			"status": "ok", "version": Version, "dialect": s.dialectName(), "clock": map[string]any{"mode": s.cfg.Clock, "now": s.wall.Now().UnixMilli()},
			"journal": map[string]int{"limit": traffic.Limit}, "memory": s.memoryUse(),
		}
	}
	return nil
}

// dialectName is the name of the dialect that the server speaks.
func (s *Server) dialectName() string {
	if s.cfg.Dialect == nil {
		return spec.Auto
	}
	return s.cfg.Dialect.Name
}

// reading reports how much of the data of an account has been read.
func (s *Server) reading(account string, records int) {
	s.NotReady(fmt.Sprintf("it has read %d records of account %q", records, account))
	s.cfg.Log.Info("reading the data of an account", "account", account, "records", records)
}

// localClient sends requests of a process to its own server. It does not verify
// the certificate, which the same process presents.
func localClient(s *Server) *http.Client {
	if s.cfg.TLS == nil {
		return http.DefaultClient
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}
}

// postPublish publishes and returns the message id.
func postPublish(client *http.Client, url string, h http.Header, body []byte) (string, error) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header = h
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var receipt struct{ MessageID, Error string }
	if err := json.Unmarshal(answer, &receipt); err != nil || receipt.MessageID == "" {
		return "", fmt.Errorf("%s: %s", response.Status, answer)
	}
	return receipt.MessageID, nil
}
