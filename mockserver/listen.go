package mockserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/api"
	paths "github.com/understudy-mock/understudy/spec/route"
)

// Run starts a stand-in that listens on Config.Addr. Close stops it. The error
// wraps ErrSnapshot when Config.Snapshot cannot be restored.
func Run(cfg Config) (*Server, error) {
	if cfg.Listeners == nil {
		var err error
		if cfg.Listeners, err = Listen(cfg); err != nil {
			return nil, err
		}
	}
	s, open, err := prepareServer(cfg)
	if err == nil {
		err = checkFixtures(cfg)
	}
	if err != nil {
		CloseListeners(cfg.Listeners)
		return nil, err
	}
	s.listeners = cfg.Listeners
	for i, l := range s.listeners {
		if i == 0 || l != s.listeners[0] {
			s.servers, s.own = append(s.servers, s.cfg.pace.Server(s)), append(s.own, l)
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
	was, err := s.states.Restore(cfg.Snapshot, cfg.Clock)
	for _, a := range was.Accounts {
		s.cfg.Log.Info("state restored", "account", a.ID, "clock", a.Clock, "at", a.Now.UTC(), "saved", was.SavedAt.UTC())
	}
	return err
}

// Listen opens the listeners of the four addresses of a configuration, for Config.Listeners: a
// program that creates files for its server owns the addresses first. An address that is empty
// shares the first listener. Connections wait until Run serves them. An error has the name of
// the setting.
func Listen(cfg Config) ([]net.Listener, error) {
	var all []net.Listener
	for _, a := range [][2]string{
		{"addr", cmp.Or(cfg.Addr, "127.0.0.1:0")}, {"listen-region", cfg.RegionAddr}, {"listen-management", cfg.ManagementAddr}, {"listen-vector", cfg.VectorAddr},
	} {
		if a[1] == "" {
			all = append(all, all[0])
			continue
		}
		l, err := net.Listen("tcp", a[1])
		if err != nil {
			CloseListeners(all)
			if wrong, ok := errors.AsType[*net.AddrError](err); ok {
				return nil, fmt.Errorf("%s: invalid value %q: must be HOST:PORT, with port 0 for a free one (%s)", a[0], a[1], wrong.Err)
			}
			return nil, fmt.Errorf("cannot listen on %s: %w", a[1], err)
		}
		all = append(all, l)
	}
	return all, nil
}

// CloseListeners closes listeners that no server serves.
func CloseListeners(all []net.Listener) {
	for _, l := range all {
		_ = l.Close() // some are the same
	}
}

// checkFixtures loads the fixtures into a server in memory, if a store is new: an invalid file
// must not leave accounts there, with which the next start would not load any.
func checkFixtures(cfg Config) error {
	if cfg.Store == nil || len(cfg.Fixtures) == 0 {
		return nil
	}
	ids, err := cfg.Store.Accounts(context.Background())
	if err != nil || len(ids) > 0 {
		return err
	}
	cfg.Store, cfg.Fleet, cfg.Listeners, cfg.Observe = nil, nil, nil, nil
	trial, err := New(cfg)
	if err != nil {
		return err
	}
	defer trial.Close() //nolint:errcheck // it keeps nothing
	for _, f := range cfg.Fixtures {
		if err := trial.Load(f); err != nil {
			return err
		}
	}
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
		if gate.LocalAddr(l.Addr().String()) {
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
	if at == nil || len(s.own) == 0 || gate.LocalHost(at.Host) {
		return false
	}
	own := s.own[0].Addr()
	_, port, _ := net.SplitHostPort(own.String())
	return gate.LocalAddr(own.String()) || at.Scheme != s.cfg.scheme() || cmp.Or(at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme]) != port
}

// startingRate is how many requests a second are refused during the start: clients that repeat
// at once must not take the processor that the start needs.
const startingRate = 100

// starting answers requests while the server reads the data of its accounts: it is alive, but
// not ready. Requests beyond startingRate wait, and are served if the start ends meanwhile.
func (s *Server) starting(w http.ResponseWriter, r *http.Request) {
	if s.probed(r) == nil {
		_ = s.early.Wait(r.Context()) // its client may have left
		if s.opened.Load() {
			s.ServeHTTP(w, r)
			return
		}
	}
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
		return control.HealthOf(Version, s.dialectName(), api.Clock{Mode: s.cfg.Clock, Now: s.wall.Now().UnixMilli()}, s.memoryUse())
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
