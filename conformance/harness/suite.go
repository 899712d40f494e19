package harness

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// Config configures a run for its scenarios.
type Config struct {
	Target      target.Target
	Concurrency int        // largest number of concurrent scenarios
	Plugin      PluginHost // runs the rate-limit plugin; nil: the driver of the target file
	SelfTest    bool       // an exchange or delivery that no step has judged fails
	Version     string     // of the suite, for the User-Agent
	Worlds      Worlds
}

// Worlds are the generated worlds of a run.
type Worlds struct {
	Count int    // of each kind; 0: none
	Seed  uint64 // of the first one
	Size  int    // things in each; 0: 40
}

// Suite is the state that the scenarios of a run share.
type Suite struct {
	Config

	ID        string // cf-...
	Document  *spec.Document
	Dialect   *spec.Dialect
	Offset    time.Duration     // of the target's clock; set before the first scenario
	Unbranded bool              // no header prefix is known, from the target file or the probe; set before the first scenario
	Absent    map[string]string // areas that the target lacks, with the evidence; set before the first scenario
	Receiver  *receiver.Receiver
	Client    *http.Client
	number    atomic.Int64
	requests  atomic.Int64
	messages  atomic.Int64
	slowest   atomic.Int64 // of all answers, in ns
	pace      pace
	hopes     hopes
	Idle      Stopwatch // of all scenarios
	Made      sync.Map  // worlds that scenarios share, by kind

	measuring sync.Mutex    // held while the wait before a retry is measured
	measured  bool          // whether it has been measured
	wait      time.Duration // before a retry, in real time

	receiverOnce sync.Once
	receiverURLs *regexp.Regexp

	Context context.Context         // of the run: its cause says why it ended early
	Stop    context.CancelCauseFunc // ends the run

	shared sync.Map // what scenarios of one account make once -> *sharing

	mu           sync.Mutex
	observations map[string][]string
}

// sharing is a state of the account that several scenarios start from.
type sharing struct {
	mu   sync.Mutex
	made bool
}

// Once makes a state unless another scenario of the same account has made it.
func (s *Scenario) Once(what string, create func() error) error {
	if s.Alone {
		return create()
	}
	v, _ := s.Suite.shared.LoadOrStore(what, &sharing{})
	state := v.(*sharing)
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.made {
		return nil
	}
	err := create()
	state.made = err == nil
	return err
}

// NewSuite returns the state of a run before its first scenario.
func NewSuite(ctx context.Context, with Config, doc *spec.Document) *Suite {
	st := &Suite{
		Config: with, ID: "cf" + strings.ToLower(rand.Text()[:5]), Document: doc, Dialect: with.Target.Bindings.Dialect(),
		Client: newHTTP(ctx, with.Concurrency), observations: map[string][]string{},
	}
	st.Context, st.Stop = context.WithCancelCause(ctx)
	return st
}

// PluginHost starts a host application with the rate-limit plugin, which forwards admitted
// requests to upstream. config is the JSON of the interface document. An error means that
// the plugin refused the configuration.
type PluginHost func(ctx context.Context, config []byte, upstream string) (url string, stop func(), err error)

// spend counts a request and ends the run when it exceeds a limit of the target file.
func (st *Suite) spend(op *spec.Operation) error {
	limits := st.Target.Limits
	for _, l := range []struct {
		name  string
		count *atomic.Int64
		most  int
		about bool
	}{
		{"max_requests", &st.requests, limits.MaxRequests, true},
		{"max_messages", &st.messages, limits.MaxMessages, op.Tag == "publish"},
	} {
		if l.about && l.count.Add(1) > int64(l.most) && l.most > 0 {
			cause := &Exhausted{fmt.Sprintf("limits.%s: %d", l.name, l.most)}
			st.Stop(cause)
			return CutOff(cause)
		}
	}
	return nil
}

// Branded returns the name that a header has for the target.
func (st *Suite) Branded(name string) string {
	for branded := range st.Dialect.BrandHeader(http.Header{http.CanonicalHeaderKey(name): nil}) {
		name = branded
	}
	return name
}

// Slowest returns how long the slowest answer has taken.
func (st *Suite) Slowest() time.Duration { return time.Duration(st.slowest.Load()) }

// Observe records what the target does at an open point.
func (st *Suite) Observe(point, value string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !slices.Contains(st.observations[point], value) {
		st.observations[point] = append(st.observations[point], value)
		slices.Sort(st.observations[point])
	}
}

// newHTTP returns a client that follows no redirects: scenarios judge the answer itself.
func newHTTP(ctx context.Context, parallel int) *http.Client {
	_ = ctx
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: max(parallel, 8)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Begin prepares a scenario: credentials, addresses and a clock. With a moved clock, or the
// tag @exclusive, it creates an account for the scenario if a driver can. Even with an
// error it returns a scenario, which then records the error.
func (st *Suite) Begin(ctx context.Context, known report.Result) (*Scenario, error) {
	limit := st.timeout(known.Tags)
	ctx, cancel := within(ctx, limit, st.pace.waited, Inconclusive(report.BudgetExhausted, "the scenario took longer than %s, its budgets together", limit))
	t := &st.Target
	s := &Scenario{
		Suite: st, Key: fmt.Sprintf("%s%d", st.ID, st.number.Add(1)), Limit: cancel, Auth: t.Target.Auth, URLs: t.Target.URLs.Filled(),
		User: string(t.Fixtures.StatsUserID), Before: -1, Named: map[string]*receiver.Endpoint{}, unlooked: map[int]bool{}, Breaks: map[string]*report.Failure{}, arrived: make(chan struct{}),
	}
	s.latest.Store(-1)
	s.Result = known
	s.Result.Started = Now()
	s.Context = ctx
	s.Clock = Clock{http: st.Client, timing: t.Timing, arrived: s.arrivals, Offset: st.Offset, waited: st.pace.waited, idle: &st.Idle}
	if driver, ok := t.Drivers["clock"]; ok && driver.Kind == "control" {
		var err error
		if s.Clock.control, err = s.expand(driver.URL, nil, nil); err == nil {
			s.Clock.header, err = s.expandHeader(driver.Headers, nil)
		}
		if err != nil {
			return s, Fault(report.DriverFailed, "driver clock: %v", err)
		}
	}
	if _, ok := t.Drivers["account"]; ok && (s.Clock.Virtual() || slices.Contains(known.Tags, "@exclusive")) {
		s.Alone = true
		if err := s.OwnAccount("secret-" + s.Key); err != nil {
			return s, err
		}
	}
	return s, nil
}

// timeout is how long one scenario may take; the first one of generated worlds runs all of them.
func (st *Suite) timeout(tags []string) time.Duration {
	t := st.Target.Timing
	budget := time.Duration(float64(2*t.RetryBudget+t.StatsBudget+2*t.SettleBudget) * t.Scale)
	if slices.Contains(tags, "@area-worlds") {
		budget *= time.Duration(max(1, st.Worlds.Count))
	}
	if limits := st.Target.Limits; limits.RPS > 0 { // limits.rps delays requests without bound
		return max(budget, limits.Wall)
	}
	return budget
}

// Observed returns the observations so far, by open point.
func (st *Suite) Observed() map[string][]string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return maps.Clone(st.observations)
}
