package mockserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/delivery"
	"github.com/understudy-mock/understudy/mockserver/explore"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/listener"
	"github.com/understudy-mock/understudy/mockserver/messaging"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Account is an account with its credentials.
type Account = tenant.Credentials

// Config configures a stand-in. The zero value is a stand-in with one account,
// in real time, on a free port of the loopback interface.
type Config struct {
	Addr           string // where Run listens; "": 127.0.0.1:0
	RegionAddr     string // separate listeners of the other hosts; "": Addr
	ManagementAddr string
	VectorAddr     string
	Listeners      []net.Listener // of the addresses above, from Listen; nil: Run opens them
	Advertise      *url.URL       // how clients reach Addr, see ParseAdvertise; nil: the address of the listener
	TLS            *tls.Config    // of all listeners; nil: plain HTTP
	CAFile         string         // the CA that clients must trust, named in Env; "": none beside their own

	Dialect    *spec.Dialect     // nil: every built-in one, each request by its own names
	Clock      string            // real (default), manual, auto
	Start      time.Time         // initial time of a manual clock; zero: now, or 2026-01-01 when seeded
	Seed       uint64            // 0: random ids; otherwise the same commands give the same bytes
	Parallel   int               // largest number of concurrent deliveries of an account; 0: the engine's default
	Accounts   []Account         // empty: the dialect's development account
	AnyAccount bool              // every unknown token gets an account of its own
	Rewrites   map[string]string // URL prefix -> URL prefix, for deliveries
	Stubs      []stub.Stub
	Fleet      Fleet         // shares the accounts of Store with other servers; nil: a single server
	Store      store.Store   // makes the accounts durable; the caller closes it after Close; nil: memory only
	Replay     *tenant.Until // shows the accounts of Store at this instant, read-only and without deliveries; nil: a normal server
	Snapshot   io.Reader     // initial state for Run, see Server.Snapshot; nil: none
	Fixtures   []Fixture     // loaded by Run, unless there is a snapshot

	MaxBody         int64 // bytes of a request body; 0: 6 MiB
	MaxAnswer       int64 // bytes of a destination's answer that are kept; 0: 10 MiB
	MaxDescendants  int   // largest number of messages that the deliveries of a message and its descendants to this server may create; 0: the engine's default
	MaxMessages     int   // largest number of messages that one request may create; 0: the engine's default
	Memory          int64 // bytes of journals, logs and answers; the oldest bodies are dropped first; 0: 512 MiB
	MaxBacklog      int64 // undelivered messages; publishes beyond are refused with 429; 0: no bound
	MaxBacklogBytes int64 // the same in bytes, with DLQ, open runs and schedules; 0: 2 GiB

	TraceContext bool   // deliveries carry the trace context of their publisher, or one of their own
	TraceURL     string // of a trace in a viewer, with {traceId} in it, for the page; "": none
	// Observe receives the events of an account as they happen, in order, from one goroutine for
	// each account; nil: none.
	Observe func(account string, e *engine.Event)

	Outbound string // deliveries that no stub answers: allow ("" as well), loopback-only, stub-only

	// Transport wraps the transport of deliveries, for example with one that
	// fails in a test; nil: no wrapper.
	Transport func(http.RoundTripper) http.RoundTripper

	SkipResponseCheck bool   // do not check the server's own answers against the OpenAPI document
	StrictOptions     bool   // unknown configuration names are errors
	ControlToken      string // of the control API; "": open to programs on this machine, closed to others
	// ControlOpenOnLoopback opens the control API to programs on this machine, also
	// when ControlToken is set.
	ControlOpenOnLoopback bool

	PricePerMessage float64         // 0: 0.00001
	VectorLag       time.Duration   // see engine.Config
	VectorIndexes   []vector.Config // empty: one, named default
	Embed           string          // EmbedHash: texts become vectors for tests; NAME=hash: in one index; "": they are refused
	Log             *slog.Logger
	Flags           []string // how the program was started, for bug reports; without what may be secret

	pace    listener.Pace      // of connections; zero: listener.DefaultPace
	conduct *explore.Conductor // orders the deliveries and applies a plan; nil: none
	perHost int                // as engine.Config
}

// defaultMaxBody is the largest request body (decided: 27).
const defaultMaxBody = 6 << 20

// Server is a stand-in. It is an http.Handler.
type Server struct {
	cfg        Config
	neutral    *spec.Dialect // the names that all code behind the pipeline uses
	doc        *spec.Document
	controlDoc *spec.Document
	control    *control.Service
	messaging  *messaging.API
	router     *mux.Router
	wall       *clock.Real
	delivery   *delivery.Deliverer
	parts      control.Parts
	browser    http.Handler // the page; nil: none
	tools      http.Handler // for coding agents; nil: none
	memory     *engine.Ledger
	relief     relief
	kvCapacity *kv.Capacity  // of the key-value stores of all accounts
	undo       *saved.Points // states of accounts before something was removed
	states     *saved.States
	incoming   *semaphore.Weighted // bytes of large request bodies in progress
	turns      *semaphore.Weighted // of lists, see takeTurn
	responses  *semaphore.Weighted // bytes of large answers in progress
	started    time.Time

	gate    *gate.Gate
	trouble atomic.Pointer[string] // why the server is not ready; nil, "": it is

	opened  atomic.Bool   // the accounts are open: before, starting answers
	early   *rate.Limiter // of what starting answers
	tenants *tenant.Registry
	fleet   Fleet
	handler http.Handler // serve, in that of the fleet

	mu         sync.Mutex // guards violations
	violations []string   // answers of the server that violated the document

	listeners []net.Listener
	servers   []*http.Server
	own       []net.Listener // the listener of each of servers
	done      chan struct{}  // closed by Close: ends the event streams
	serving   sync.WaitGroup
	closing   sync.Once
}

// New prepares a stand-in that does not listen; use it as an http.Handler. The
// error names operations of the OpenAPI documents without a handler, and
// handlers without an operation.
func New(cfg Config) (*Server, error) {
	s, open, err := prepareServer(cfg)
	if err == nil {
		err = open()
	}
	if err != nil {
		return nil, err
	}
	s.opened.Store(true)
	s.tenants.Begin()
	return s, nil
}

// prepareServer creates a stand-in without accounts, and the function that opens them. They do
// not deliver yet.
func prepareServer(cfg Config) (*Server, func() error, error) {
	doc, err := spec.Load()
	if err != nil {
		return nil, nil, err
	}
	controlDoc, err := spec.LoadControl()
	if err != nil {
		return nil, nil, err
	}
	shared, clockGiven := cfg.Dialect == nil && len(cfg.Accounts) == 0, cfg.Clock != ""
	if err := cfg.complete(); err != nil {
		return nil, nil, err
	}
	s := &Server{cfg: cfg, fleet: cfg.Fleet, doc: doc, controlDoc: controlDoc, wall: clock.NewReal(), done: make(chan struct{})}
	if s.fleet == nil {
		s.fleet = alone{cfg.Store}
	}
	s.handler = s.fleet.Handler(http.HandlerFunc(s.serve))
	s.neutral = spec.BuiltInDialects()[0]
	s.kvCapacity = kv.NewCapacity(ofKV(cfg.Memory))
	s.undo = saved.NewPoints(ofUndo(cfg.Memory))
	s.turns = semaphore.NewWeighted(largeResponses)
	s.memory = &engine.Ledger{MaxWork: cfg.MaxBacklogBytes, MaxMessages: cfg.MaxBacklog}
	s.incoming, s.responses = semaphore.NewWeighted(max(inTransit(cfg.Memory), 2*cfg.MaxBody)), semaphore.NewWeighted(inTransit(cfg.Memory))
	s.started = s.wall.Now()
	s.early = rate.NewLimiter(startingRate, startingRate)
	s.delivery = delivery.New(s.deliveries())
	if s.router, err = s.routes(doc, controlDoc); err != nil {
		return nil, nil, err
	}
	if s.parts = control.Attached(); s.parts.Page != nil {
		s.browser = s.parts.Page(s)
	}
	if s.parts.Agents != nil {
		s.tools = s.parts.Agents(s)
	}
	return s, func() error { return s.openAccounts(s.tenantConfig(clockGiven), shared) }, nil
}

// openAccounts opens the accounts, which may have to read many data.
func (s *Server) openAccounts(cfg tenant.Config, shared bool) (err error) {
	if s.tenants, err = tenant.New(cfg); err != nil {
		return err
	}
	s.fleet.Attach(control.FleetHost{
		Accounts: s.tenants, ReadBody: s.readBody, Made: s.delivery.Made, Leaving: func() { s.NotReady("the server leaves the fleet") },
	})
	s.control = &control.Service{Server: s.controlled()}
	s.messaging = &messaging.API{Accounts: s.tenants, Strict: s.cfg.StrictOptions, TraceContext: s.cfg.TraceContext, MaxAnswer: inTransit(s.cfg.Memory), Embeds: func(index string) bool {
		return slices.ContainsFunc(s.cfg.VectorIndexes, func(x vector.Config) bool { return x.Name == index && x.EmbeddingModel == messaging.HashModel })
	}}
	s.states = &saved.States{
		Tenants: s.tenants, Sinks: &s.control.Sinks, Configure: s.messaging.Configure, Neutralise: s.neutralise, Points: s.undo,
	}
	s.gate = &gate.Gate{
		Accounts: s.tenants, Neutral: s.neutral, ControlToken: s.cfg.ControlToken, NeedsToken: s.cfg.controlNeedsToken(),
		ReadOnly: s.cfg.Replay != nil, HostNames: hostNames(&s.cfg), Made: s.delivery.Made, Log: s.cfg.Log,
	}
	if shared {
		s.tenants.ShareDevelopmentAccount()
	}
	s.NotReady("")
	return nil
}

// deliveries is the configuration of package delivery.
func (s *Server) deliveries() delivery.Config {
	cfg := &s.cfg
	return delivery.Config{
		Own:         func() []net.Listener { return s.own },
		Advertise:   cfg.Advertise,
		Scheme:      cfg.scheme(),
		Outbound:    cfg.Outbound,
		Transport:   cfg.Transport,
		MaxResponse: cfg.MaxAnswer,
		Room:        s.responses,
		MaxRoom:     inTransit(cfg.Memory),
		Wall:        s.wall,
		Log:         cfg.Log,
		After:       s.relieve,
		Conduct:     conducting(cfg.conduct),
		Sign:        s.fleet.Sign,

		TraceContext: cfg.TraceContext,
	}
}

// controlled is the part of the server that package control uses.
func (s *Server) controlled() control.Server {
	return control.Server{
		Tenants:    s.tenants,
		Store:      s.cfg.Store,
		Fleet:      s.fleet,
		Export:     s.parts.Metrics,
		Known:      s.knownOperation,
		Wall:       s.wall,
		Log:        s.cfg.Log,
		Done:       s.done,
		Access:     s.access,
		Memory:     s.memoryUse,
		Trouble:    s.reason,
		Version:    func() string { return Version },
		Flags:      s.cfg.Flags,
		Violations: func() int { return len(s.Violations()) },
		TraceURL:   s.cfg.TraceURL,
		Traced:     s.cfg.TraceContext || s.cfg.Observe != nil,
	}
}

// tenantConfig is the configuration of package tenant.
func (s *Server) tenantConfig(clockGiven bool) tenant.Config {
	cfg := &s.cfg
	dialects := spec.BuiltInDialects()
	if cfg.Dialect != nil {
		dialects = dialects.With(cfg.Dialect)
	}
	return tenant.Config{
		Fleet:          cfg.Fleet,
		Accounts:       cfg.Accounts,
		AnyAccount:     cfg.AnyAccount,
		Dialects:       dialects,
		Auto:           cfg.Dialect == nil,
		ClockGiven:     clockGiven,
		Clock:          cfg.Clock,
		Start:          cfg.Start,
		Seed:           cfg.Seed,
		Wall:           s.wall,
		Stubs:          cfg.Stubs,
		Rewrites:       cfg.Rewrites,
		Store:          cfg.Store,
		Reading:        s.reading,
		Replay:         cfg.Replay,
		KnownOperation: s.knownOperation,
		KVCapacity:     s.kvCapacity,
		Memory:         s.memory,
		Engine: engine.Config{
			Parallel:        cfg.Parallel,
			PerHost:         cfg.perHost,
			MaxCreated:      cfg.MaxMessages,
			MaxDescendants:  cfg.MaxDescendants,
			Log:             cfg.Log,
			PricePerMessage: cfg.PricePerMessage,
			VectorLag:       cfg.VectorLag,
			VectorIndexes:   cfg.VectorIndexes,
			Strict:          strictEngine,
		},
		Deliver: s.delivery.To,
		Observe: cfg.Observe,
		Failed:  s.tellFailure,
	}
}

// strictEngine makes internal errors of the engine panic instead of logging
// them; the tests of this package set it.
var strictEngine = false

// checkNumbers refuses negative numbers.
func (c *Config) checkNumbers() error {
	for _, one := range []struct {
		name     string
		value    any
		negative bool
	}{
		{"vector-lag", c.VectorLag, c.VectorLag < 0},
		{"price-per-message", c.PricePerMessage, c.PricePerMessage < 0},
		{"memory", c.Memory, c.Memory < 0},
		{"max-answer", c.MaxAnswer, c.MaxAnswer < 0},
		{"max-backlog", min(c.MaxBacklog, c.MaxBacklogBytes), c.MaxBacklog < 0 || c.MaxBacklogBytes < 0},
	} {
		if one.negative {
			return fmt.Errorf("%s: invalid value %v: must be 0 or more", one.name, one.value)
		}
	}
	return nil
}

// completeAccounts fills in the default account and refuses invalid accounts.
func (c *Config) completeAccounts() error {
	if len(c.Accounts) == 0 {
		home := cmp.Or(c.Dialect, spec.BuiltInDialects()[0])
		c.Accounts = []Account{{ID: home.UserID, Token: home.Token}}
	}
	seen := map[string]bool{}
	for _, a := range c.Accounts {
		if err := tenant.CheckID(a.ID); err != nil && c.Replay == nil {
			return err
		}
		if a.Token == "" && c.Replay == nil || seen[a.ID] || a.Token != "" && seen["\x00"+a.Token] {
			return fmt.Errorf("account: invalid value %q: must have an id and a token that no other account has", a.ID)
		}
		seen[a.ID], seen["\x00"+a.Token] = true, true
	}
	return nil
}

// complete fills in the defaults and refuses invalid values.
func (c *Config) complete() error {
	switch c.Clock {
	case "":
		c.Clock = "real"
	case "real", "manual", "auto":
	default:
		return fmt.Errorf("clock: invalid value %q: must be one of real, manual, auto", c.Clock)
	}
	if err := c.completeAccounts(); err != nil {
		return err
	}
	for i := range c.Stubs {
		if err := c.Stubs[i].Check(); err != nil {
			return refusal.At(fmt.Sprint("stubs/", i), err)
		}
	}
	for from, to := range c.Rewrites {
		for _, u := range []string{from, to} {
			if err := request.CheckURL("rewrite", "", u); err != nil {
				return err
			}
		}
	}
	names := map[string]bool{}
	for _, x := range c.VectorIndexes {
		if x.Name == "" || names[x.Name] {
			return fmt.Errorf("vector-index: invalid value %q: must be a name that no other index has", x.Name)
		}
		names[x.Name] = true
	}
	if !c.Start.IsZero() && !clock.Valid(c.Start) {
		return fmt.Errorf("start: invalid value %s: must be within the years 1970 to 9999", c.Start.UTC())
	}
	if err := c.checkNumbers(); err != nil {
		return err
	}
	if len(c.VectorIndexes) == 0 {
		c.VectorIndexes = []vector.Config{tenant.DefaultIndex}
	}
	c.VectorIndexes = slices.Clone(c.VectorIndexes)
	if err := messaging.SetEmbeddings(c.VectorIndexes, c.Embed); err != nil {
		return err
	}
	if err := delivery.CheckOutbound(c.Outbound); err != nil {
		return err
	}
	if c.TLS != nil && c.Advertise != nil && c.Advertise.Scheme != "https" {
		return fmt.Errorf("advertise: invalid value %q: must be https, because the listeners speak TLS", c.Advertise)
	}
	c.Memory = cmp.Or(c.Memory, defaultMemory)
	c.MaxAnswer = cmp.Or(c.MaxAnswer, delivery.DefaultMaxResponse)
	c.MaxBacklogBytes = cmp.Or(c.MaxBacklogBytes, defaultBacklog)
	c.pace = cmp.Or(c.pace, listener.DefaultPace)
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.PricePerMessage == 0 {
		c.PricePerMessage = 0.00001
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = slog.New(mask.Handler(c.Log.Handler()))
	return nil
}

// ServeHTTP answers every operation of all four hosts and the control API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.opened.Load():
		s.starting(w, r)
	case s.cfg.conduct != nil:
		s.cfg.conduct.Serve(w, r, s.handler)
	default:
		s.handler.ServeHTTP(w, r)
	}
}

// Close stops listening, ends event streams, cancels deliveries in flight, and
// waits for their goroutines. It logs what stays undelivered.
func (s *Server) Close() error {
	var errs []error
	s.closing.Do(func() {
		s.fleet.Leave()
		close(s.done)
		s.fleet.End(s.shutdown)
		for i, srv := range s.servers {
			errs = append(errs, srv.Close())
			_ = s.own[i].Close() // serveOn may not have started
		}
		s.serving.Wait()
		if s.tenants != nil {
			errs = append(errs, s.tenants.Close())
		}
		s.delivery.Close()
	})
	return errors.Join(errs...)
}

// shutdown closes the listeners, and waits for the requests in progress until ctx ends.
func (s *Server) shutdown(ctx context.Context) {
	for _, srv := range s.servers {
		_ = srv.Shutdown(ctx) // after the deadline, Close cuts them off
	}
}

// violation records an answer of the server that violated the OpenAPI document.
func (s *Server) violation(op string, problems []spec.Problem) {
	for _, p := range problems {
		s.cfg.Log.Error("answer breaks the document", "operation", op, "problem", p.String())
		s.mu.Lock()
		s.violations = append(s.violations, op+": "+p.String())
		s.mu.Unlock()
	}
}

// Violations lists the answers of this stand-in that violated the OpenAPI
// document. Each one is a bug of the server.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// controlNeedsToken reports whether callers on this machine need the control token, too.
func (c *Config) controlNeedsToken() bool { return c.ControlToken != "" && !c.ControlOpenOnLoopback }

// hostNames are the host names, besides those of loopback, that clients on this
// machine may use: the name of the machine, the hosts of the listeners, and the
// advertised host.
func hostNames(cfg *Config) []string {
	var names []string
	if name, err := os.Hostname(); err == nil {
		names = append(names, gate.HostName(name))
	}
	for _, address := range []string{cfg.Addr, cfg.RegionAddr, cfg.ManagementAddr, cfg.VectorAddr} {
		names = append(names, gate.HostName(address))
	}
	if cfg.Advertise != nil {
		names = append(names, gate.HostName(cfg.Advertise.Host))
	}
	return names
}
