package mockserver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"
	"golang.org/x/sync/semaphore"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/memory"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/delivery"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/listener"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/ui"
	"github.com/understudy-mock/understudy/mockserver/vectors"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Account is a credential and the account that it opens.
type Account = tenant.Credentials

// Config is what a stand-in is made of. The zero value is a stand-in with one
// account, in real time, on a free port of the loopback interface.
type Config struct {
	Addr           string // where Run listens; "": 127.0.0.1:0
	RegionAddr     string // own listeners of the other hosts; "": Addr
	ManagementAddr string
	VectorAddr     string
	Advertise      *url.URL // how clients reach Addr, see ParseAdvertise; nil: the address of the listener

	Dialect    *spec.Dialect     // nil: every built-in one, each request by its own names
	Clock      string            // real (default), manual, auto
	Start      time.Time         // where a manual clock begins; zero: now, or 2026-01-01 when seeded
	Seed       uint64            // 0: random ids; else the same commands repeat to the byte
	Parallel   int               // deliveries at once per account; 0: the engine's default
	Accounts   []Account         // empty: the dialect's development account
	AnyAccount bool              // every unknown token gets an account of its own
	Rewrites   map[string]string // URL prefix -> URL prefix, for deliveries
	Stubs      []stub.Stub
	Snapshot   io.Reader // the state that Run begins with, see Server.Snapshot; nil: none
	Fixtures   []Fixture // what Run loads when it begins without a snapshot

	MaxBody         int64 // bytes of a request body; 0: 1 MiB
	MaxAnswer       int64 // bytes of a destination's answer that are kept; 0: 10 MiB
	MaxMessages     int   // that one request may create; 0: the engine's default
	Memory          int64 // bytes of journals, log and answers; the oldest bodies go first; 0: 512 MiB
	MaxBacklog      int64 // messages not delivered yet, beyond which publishes are refused with 429; 0: no bound
	MaxBacklogBytes int64 // the same in bytes, with DLQ, open runs and schedules; 0: 2 GiB

	Outbound string // deliveries that no stub answers: allow ("" as well), loopback-only, stub-only

	// Transport puts something between the stand-in and its destinations, such as
	// what a test makes fail; nil: nothing.
	Transport func(http.RoundTripper) http.RoundTripper

	KVURL             string // redis:// of a real server behind the key-value store; "": embedded
	SkipResponseCheck bool   // do not hold our own answers to the document
	StrictOptions     bool   // unknown configuration names are errors
	ControlToken      string
	PricePerMessage   float64         // 0: 0.00001
	VectorLag         time.Duration   // see engine.Config
	VectorIndexes     []vector.Config // empty: one, named default
	Embed             string          // EmbedHash: texts become vectors for tests; "": they are refused
	Log               *slog.Logger

	pace listener.Pace // of connections; zero: listener.DefaultPace
}

// defaultMaxBody is the largest request body (decided: 27).
const defaultMaxBody = 1 << 20

// Server is a stand-in. It is an http.Handler.
type Server struct {
	cfg        Config
	neutral    *spec.Dialect // in which everything behind the edge speaks
	doc        *spec.Document
	controlDoc *spec.Document
	control    *control.Service
	router     *mux.Router
	wall       *clock.Real
	delivery   *delivery.Deliverer
	page       *ui.Page
	memory     *memory.Ledger
	relief     relief
	kvCapacity *kv.Capacity        // of the embedded stores of all accounts
	incoming   *semaphore.Weighted // bytes of request bodies that are being handled
	turns      *semaphore.Weighted // of lists, see takeTurn
	responses  *semaphore.Weighted // bytes of answers that are being read
	started    time.Time

	hostNames []string               // see knownHost
	trouble   atomic.Pointer[string] // why the server is not ready; nil, "": it is

	tenants *tenant.Registry

	mu         sync.Mutex // guards violations
	violations []string   // answers of ours that broke the document

	listeners []net.Listener
	servers   []*http.Server
	own       []net.Listener // of each server its own
	done      chan struct{}  // closed by Close: ends the event streams
	serving   sync.WaitGroup
	closing   sync.Once
}

// New prepares a stand-in. It refuses a document whose operations and handlers
// do not match, and names them.
func New(cfg Config) (*Server, error) {
	doc, err := spec.Load()
	if err != nil {
		return nil, err
	}
	controlDoc, err := spec.LoadControl()
	if err != nil {
		return nil, err
	}
	shared := cfg.Dialect == nil && len(cfg.Accounts) == 0
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, doc: doc, controlDoc: controlDoc, wall: clock.NewReal(), done: make(chan struct{})}
	s.neutral = spec.BuiltInDialects()[0]
	s.kvCapacity = kv.NewCapacity(ofKV(cfg.Memory))
	s.turns = semaphore.NewWeighted(largeResponses)
	s.memory = &memory.Ledger{MaxWork: cfg.MaxBacklogBytes, MaxMessages: cfg.MaxBacklog}
	s.incoming, s.responses = semaphore.NewWeighted(max(inTransit(cfg.Memory), 2*cfg.MaxBody)), semaphore.NewWeighted(inTransit(cfg.Memory))
	s.started = s.wall.Now()
	s.hostNames = hostNames(&cfg)
	s.delivery = delivery.New(s.deliveries())
	if s.router, err = s.routes(doc, controlDoc); err != nil {
		return nil, err
	}
	if s.page, err = ui.New(s); err != nil {
		return nil, err
	}
	if _, err := kv.New(kv.Config{Token: "-", URL: cfg.KVURL}); err != nil {
		return nil, err
	}
	s.tenants = tenant.New(s.tenantConfig())
	s.control = control.New(s.controlled())
	if shared {
		s.tenants.ShareDevelopmentAccount()
	}
	return s, nil
}

// deliveries is what deliveries need of the server.
func (s *Server) deliveries() delivery.Config {
	cfg := &s.cfg
	return delivery.Config{
		Own:         func() []net.Listener { return s.own },
		Advertise:   cfg.Advertise,
		Outbound:    cfg.Outbound,
		Transport:   cfg.Transport,
		MaxResponse: cfg.MaxAnswer,
		Room:        s.responses,
		MaxRoom:     inTransit(cfg.Memory),
		Wall:        s.wall,
		Log:         cfg.Log,
		After:       s.relieve,
	}
}

// controlled is what the control API needs of the server.
func (s *Server) controlled() control.Server {
	return control.Server{
		Tenants:    s.tenants,
		Known:      s.knownOperation,
		Wall:       s.wall,
		Done:       s.done,
		Access:     s.access,
		Memory:     s.memoryUse,
		Trouble:    s.reason,
		Version:    func() string { return Version },
		Violations: func() int { return len(s.Violations()) },
	}
}

// tenantConfig is what the accounts of the server are made of.
func (s *Server) tenantConfig() tenant.Config {
	cfg := &s.cfg
	dialects := spec.BuiltInDialects()
	if cfg.Dialect != nil {
		dialects = dialects.With(cfg.Dialect)
	}
	return tenant.Config{
		Accounts:   cfg.Accounts,
		AnyAccount: cfg.AnyAccount,
		Dialects:   dialects,
		Auto:       cfg.Dialect == nil,
		Clock:      cfg.Clock,
		Start:      cfg.Start,
		Seed:       cfg.Seed,
		Wall:       s.wall,
		Stubs:      cfg.Stubs,
		Rewrites:   cfg.Rewrites,
		KVURL:      cfg.KVURL,
		KVCapacity: s.kvCapacity,
		Memory:     s.memory,
		Engine: engine.Config{
			Parallel:        cfg.Parallel,
			MaxCreated:      cfg.MaxMessages,
			Log:             cfg.Log,
			PricePerMessage: cfg.PricePerMessage,
			VectorLag:       cfg.VectorLag,
			VectorIndexes:   cfg.VectorIndexes,
			Strict:          strictEngine,
		},
		Deliver: s.delivery.To,
		Failed:  s.tellFailure,
	}
}

// strictEngine makes faults of the engine panic; the tests of this package set it.
var strictEngine = false

// complete fills in the defaults and refuses what makes no sense.
func (c *Config) complete() error {
	switch c.Clock {
	case "":
		c.Clock = "real"
	case "real", "manual", "auto":
	default:
		return fmt.Errorf("clock: invalid value %q: must be real, manual or auto", c.Clock)
	}
	if len(c.Accounts) == 0 {
		home := cmp.Or(c.Dialect, spec.BuiltInDialects()[0])
		c.Accounts = []Account{{ID: home.UserID, Token: home.Token}}
	}
	seen := map[string]bool{}
	for _, a := range c.Accounts {
		if a.ID == "" || a.Token == "" || seen[a.ID] || seen["\x00"+a.Token] {
			return fmt.Errorf("account %q: id and token are needed, each once", a.ID)
		}
		seen[a.ID], seen["\x00"+a.Token] = true, true
	}
	for _, stub := range c.Stubs {
		if err := stub.Check(); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for _, x := range c.VectorIndexes {
		if x.Name == "" || names[x.Name] {
			return fmt.Errorf("vector index %q: a name is needed, each once", x.Name)
		}
		names[x.Name] = true
	}
	if !c.Start.IsZero() && !clock.Valid(c.Start) {
		return fmt.Errorf("start %s: must be within the years 1970 to 9999", c.Start.UTC())
	}
	if c.VectorLag < 0 || c.PricePerMessage < 0 {
		return fmt.Errorf("vector lag %s, price per message %g: must be 0 or more", c.VectorLag, c.PricePerMessage)
	}
	if len(c.VectorIndexes) == 0 {
		c.VectorIndexes = []vector.Config{tenant.DefaultIndex}
	}
	if err := vectors.CheckEmbed(c.Embed); err != nil {
		return err
	}
	if c.Embed == vectors.EmbedHash {
		c.VectorIndexes = slices.Clone(c.VectorIndexes)
		for i := range c.VectorIndexes {
			c.VectorIndexes[i].EmbeddingModel = vectors.HashModel
		}
	}
	if err := delivery.CheckOutbound(c.Outbound); err != nil {
		return err
	}
	if c.Memory < 0 || c.MaxAnswer < 0 || c.MaxBacklog < 0 || c.MaxBacklogBytes < 0 {
		return fmt.Errorf("memory %d, answer %d, backlog %d messages and %d bytes: must be 0 or more", c.Memory, c.MaxAnswer, c.MaxBacklog, c.MaxBacklogBytes)
	}
	c.Memory = cmp.Or(c.Memory, defaultMemory)
	c.MaxAnswer = cmp.Or(c.MaxAnswer, delivery.DefaultMaxResponse)
	c.MaxBacklogBytes = cmp.Or(c.MaxBacklogBytes, defaultBacklog)
	if c.pace == (listener.Pace{}) {
		c.pace = listener.DefaultPace
	}
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
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.serve(w, r) }

// Close stops listening, ends the streams, cuts off what is in flight, and
// waits for all of it. What stays undelivered is logged.
func (s *Server) Close() error {
	var errs []error
	s.closing.Do(func() {
		close(s.done)
		for i, srv := range s.servers {
			errs = append(errs, srv.Close())
			_ = s.own[i].Close() // in case it never served
		}
		s.serving.Wait()
		errs = append(errs, s.tenants.Close())
		s.delivery.Close()
	})
	return errors.Join(errs...)
}

// violation keeps an answer of ours that broke the document.
func (s *Server) violation(op string, problems []spec.Problem) {
	for _, p := range problems {
		s.cfg.Log.Error("answer breaks the document", "operation", op, "problem", p.String())
		s.mu.Lock()
		s.violations = append(s.violations, op+": "+p.String())
		s.mu.Unlock()
	}
}

// Violations are the answers of this stand-in that broke the document: bugs of
// ours. There should be none.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}
