package mockserver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/understudy-mock/understudy/mockserver/gate/origin"
	"github.com/understudy-mock/understudy/mockserver/response"
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
