package client

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
)

// Config says how a client is started and judged.
type Config struct {
	Command     string        // of the adapter; with "sh:" before it, for a shell
	Env         []string      // further variables, NAME=VALUE
	Dialect     string        // names on the wire, when the adapter does not say it
	CallTimeout time.Duration // of one call; 0: 10 s
	Concurrency int           // lanes; 0: 4
	Listen      string        // address of the TLS listener, for a library with a fixed host that honours no proxy
	Host        string        // that fixed host, which the operator maps to this machine
	Slow        bool          // run cases in which the library waits
}

// The defaults of Config.
const (
	DefaultLanes       = 4
	DefaultCallTimeout = 10 * time.Second
)

// mostDeaths is how many adapters of one lane may end before the run has no verdict.
const mostDeaths = 3

// ErrStart means that there is no adapter to judge with.
var ErrStart = errors.New("the adapter")

// Session is one run: lanes, each with an adapter.
type Session struct {
	Hello Hello
	Notes map[string]string // for the report

	library *library
	cfg     Config
	words   []string
	dialect *spec.Dialect
	ca      *authority
	http    *http.Client // to workflow endpoints
	free    chan *lane
	lanes   []*lane

	mu    sync.Mutex
	count int
	dead  error
}

// lane is one adapter and its listeners. It runs one case at a time.
type lane struct {
	number   int
	session  *Session
	adapter  *adapter
	recorder *recorder
	tunnel   *tunnel
	deaths   int
	noise    []string // of adapters that ended
}

// Start starts the adapters and shakes hands.
func Start(ctx context.Context, cfg Config) (*Session, error) {
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = DefaultCallTimeout
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = DefaultLanes
	}
	s := &Session{cfg: cfg, Notes: map[string]string{}, http: &http.Client{Transport: &http.Transport{}}}
	var err error
	if s.library, err = load(); err != nil {
		return nil, err
	}
	if s.words, err = split(cfg.Command); err != nil {
		return nil, err
	}
	if s.dialect, err = spec.LoadDialect(cfg.Dialect); err != nil {
		return nil, err
	}
	if s.ca, err = newAuthority(); err != nil {
		return nil, err
	}
	first, err := s.newLane(ctx, 0)
	if err != nil {
		s.Close(ctx)
		return nil, err
	}
	s.Hello = first.adapter.hello
	if s.fixed() {
		cfg.Concurrency = 1
		first.tunnel.connect(s.Hello.FixedHost, strings.TrimPrefix(first.recorder.urls["tls"], "https://"))
	}
	if err := s.open(ctx, cfg.Concurrency); err != nil {
		s.Close(ctx)
		return nil, err
	}
	s.describe()
	return s, nil
}

// fixed reports whether the library calls one host, whatever address it gets.
func (s *Session) fixed() bool { return s.Hello.FixedHost != "" || s.cfg.Host != "" }

// open starts the other lanes, all at once.
func (s *Session) open(ctx context.Context, lanes int) error {
	errs := make([]error, lanes)
	var starting sync.WaitGroup
	for i := 1; i < lanes; i++ {
		starting.Go(func() {
			_, errs[i] = s.newLane(ctx, i)
		})
	}
	starting.Wait()
	s.free = make(chan *lane, lanes)
	for _, l := range s.lanes {
		s.free <- l
	}
	return errors.Join(errs...)
}

// newLane starts listeners and an adapter.
func (s *Session) newLane(ctx context.Context, i int) (*lane, error) {
	l := &lane{number: i, session: s}
	s.mu.Lock()
	s.lanes = append(s.lanes, l)
	s.mu.Unlock()
	var err error
	if l.tunnel, err = newTunnel(ctx); err != nil {
		return nil, err
	}
	if l.adapter, err = l.start(ctx, nil); err != nil {
		return nil, err
	}
	a := l.adapter
	if name := a.hello.Dialect; name != "" && i == 0 {
		if s.dialect, err = spec.LoadDialect(name); err != nil {
			return nil, fmt.Errorf("%w: hello: dialect: %w", errProtocol, err)
		}
	}
	l.recorder, err = newRecorder(ctx, s.dialect, s.ca, s.cfg.Listen)
	return l, err
}

// start starts an adapter of a lane. env are further variables, by neutral name.
func (l *lane) start(ctx context.Context, env map[string]string) (*adapter, error) {
	s := l.session
	return startAdapter(ctx, s.words, s.environment(l, env), map[string]any{"dialect": s.dialect.Name, "ca_file": s.ca.file, "lane": l.number})
}

// proxyVariables and trustVariables are variables that an adapter has from the suite only.
var (
	proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_USE_ENV_PROXY"}
	trustVariables = []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
)

// environment is the environment of an adapter: the caller's, without proxies and without what
// configures a client of any built-in dialect, and with the authority and the proxy of the run.
func (s *Session) environment(l *lane, own map[string]string) []string {
	drop := map[string]bool{}
	for _, name := range slices.Concat(proxyVariables, trustVariables) {
		drop[name] = true
	}
	var prefixes []string
	for _, d := range append(spec.BuiltInDialects(), s.dialect) {
		for _, name := range d.Env {
			before, _, _ := strings.Cut(name, "_")
			prefixes = append(prefixes, before+"_")
		}
		prefixes = append(prefixes, strings.ToUpper(strings.ReplaceAll(d.HeaderPrefix, "-", "_")))
	}
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		upper := strings.ToUpper(name)
		if !drop[upper] && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(upper, p) }) {
			env = append(env, v)
		}
	}
	for _, name := range trustVariables {
		env = append(env, name+"="+s.ca.file)
	}
	env = append(env, l.tunnel.variables()...)
	for name, value := range own {
		if brand := s.dialect.Env[name]; brand != "" {
			name = brand
		} else {
			name = "SVC_" + name
		}
		env = append(env, name+"="+value)
	}
	return append(env, s.cfg.Env...)
}

// describe collects what the report says about the client.
func (s *Session) describe() {
	h := &s.Hello
	s.Notes["client.language"] = h.Language
	s.Notes["client.depends"] = strings.Join(h.Depends, ", ")
	s.Notes["client.dialect"] = s.dialect.Name
	s.Notes["client.adapter"] = s.cfg.Command
	for _, word := range s.words {
		if text, err := os.ReadFile(word); err == nil && filepath.Ext(word) != "" {
			sum := sha256.Sum256(text)
			s.Notes["client.adapter_sha256"] = hex.EncodeToString(sum[:])
		}
	}
	missing := map[string]bool{}
	for i := range s.library.cases {
		for _, need := range s.library.cases[i].Needs {
			need, _, _ = strings.Cut(need, "@")
			if kind, name, found := strings.Cut(need, ":"); found && kind == "option" {
				name, _, _ = strings.Cut(name, ":")
				need = "option:" + name
			}
			if !strings.HasPrefix(need, "feature:") && !h.has(need) {
				missing[need] = true
			}
		}
	}
	for _, name := range h.Without {
		missing["field:"+name] = true
	}
	s.Notes["client.not_offered"] = strings.Join(slices.Sorted(maps.Keys(missing)), ", ")
}

// Noise returns what adapters wrote to standard output besides answers.
func (s *Session) Noise() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, l := range s.lanes {
		all = append(all, l.noise...)
		if l.adapter != nil {
			all = append(all, l.adapter.heard()...)
		}
	}
	return all
}

// Late returns the requests that arrived after the end of their case, by its id.
func (s *Session) Late() map[string]string {
	late := map[string]string{}
	for _, l := range s.lanes {
		l.recorder.mu.Lock()
		for _, one := range l.recorder.scenes {
			one.mu.Lock()
			if len(one.late) > 0 {
				late[one.name] = overview(one.late)
			}
			one.mu.Unlock()
		}
		l.recorder.mu.Unlock()
	}
	return late
}

// Dead is why the run can have no verdict, nil if it can.
func (s *Session) Dead() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// Lanes is how many cases run at the same time.
func (s *Session) Lanes() int { return cap(s.free) }

// Close ends everything that the session has started.
func (s *Session) Close(ctx context.Context) {
	var ending sync.WaitGroup
	for _, l := range s.lanes {
		ending.Go(func() {
			if l.adapter != nil {
				l.adapter.close(ctx)
			}
			if l.recorder != nil {
				l.recorder.close()
			}
			if l.tunnel != nil {
				l.tunnel.close()
			}
		})
	}
	ending.Wait()
	s.http.CloseIdleConnections()
	if s.ca != nil {
		s.ca.close()
	}
}

// Run runs one case when a lane is free, and returns its result.
func (s *Session) Run(ctx context.Context, c *Case) report.Result {
	r := c.Known()
	if missing := c.missing(&s.Hello); missing != "" {
		r.Verdict, r.Detail = report.NotApplicable, "not offered: "+missing
		return r
	}
	if c.Slow && !s.cfg.Slow && s.Hello.has("feature:fixed_waits") {
		r.Verdict, r.Reason, r.Detail = report.Inconclusive, report.NotTried, "the library waits between repeats: --slow runs this case"
		return r
	}
	l := <-s.free
	defer func() { s.free <- l }()
	if ctx.Err() != nil {
		r.Verdict, r.Reason = report.Inconclusive, report.Interrupted
		return r
	}
	if err := s.Dead(); err != nil {
		r.Verdict, r.Reason, r.Detail = report.Inconclusive, report.TargetUnreachable, err.Error()
		return r
	}
	s.mu.Lock()
	s.count++
	number := s.count
	s.mu.Unlock()
	x := &execution{lane: l, session: s, c: c, result: r, token: fmt.Sprintf("tok%d%s+/=", number, strings.ToLower(rand.Text()[:8]))}
	x.run(ctx)
	return x.result
}

// died replaces the adapter of a lane. The third death in a lane ends the run.
func (l *lane) died(ctx context.Context, why error) {
	s := l.session
	l.deaths++
	s.mu.Lock()
	l.noise = append(l.noise, l.adapter.heard()...)
	s.mu.Unlock()
	l.adapter.kill()
	if errors.Is(why, errProtocol) || l.deaths >= mostDeaths {
		s.end(why, l.deaths)
		return
	}
	fresh, err := l.start(ctx, nil)
	if err != nil {
		s.end(err, l.deaths)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.adapter = fresh
}

// end records why the run can have no verdict.
func (s *Session) end(why error, deaths int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead == nil {
		s.dead = why
		if deaths >= mostDeaths {
			s.dead = fmt.Errorf("%w; it is the adapter number %d of its lane that failed", why, deaths)
		}
	}
}

// split splits a command line into words. "sh:" is for a shell.
func split(line string) ([]string, error) {
	if script, ok := strings.CutPrefix(line, "sh:"); ok {
		return []string{"sh", "-c", strings.TrimSpace(script)}, nil
	}
	var words []string
	var word strings.Builder
	inside, quote := false, rune(0)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inside = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(c)
			inside = true
		}
	}
	if inside {
		words = append(words, word.String())
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q: a quote is not closed", line)
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}

// addressOf is the https address of a lane for a library: with its fixed host, if it has one.
func (s *Session) addressOf(base string) string {
	switch {
	case s.cfg.Host != "":
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "https://"))
		return "https://" + net.JoinHostPort(s.cfg.Host, port)
	case s.Hello.FixedHost != "":
		return "https://" + s.Hello.FixedHost
	}
	return base
}
