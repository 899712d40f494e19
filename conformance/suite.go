package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/features"
	"github.com/understudy-mock/understudy/spec"
)

// Version is that of the suite, as requests and reports say it.
var Version = "devel"

// Config says what to run and against what. Target is required.
type Config struct {
	Target target.Target

	Profiles     []string     // empty: those of the target
	Basis        []spec.Basis // empty: stated and implied
	Strict       bool         // an implied requirement that does not hold fails
	Accept       bool         // a partial result is no failure
	Tags         string       // boolean expression over tags
	Areas        []string     // only scenarios of these: publish, dlq ...
	Requirements []string     // only scenarios of these
	Names        []string     // only these scenarios
	Concurrency  int          // 0: that of the target file
	Plugin       PluginHost   // runs the rate-limit plugin; nil: the driver of the target file
	SelfTest     bool         // our own server: anything that no step looked at fails
	SkipCanary   bool         // no preflight publish

	// Progress is called, one call at a time, when a scenario ends.
	Progress func(done, total int, running []string, last *report.Result)
	FS       fs.FS // features; nil: those of package features
}

// PluginHost starts a host application with the rate-limit plugin, configured by
// the JSON of the interface document; what the plugin lets through goes on to
// upstream. An error means that the configuration was refused.
type PluginHost func(ctx context.Context, config []byte, upstream string) (url string, stop func(), err error)

// ErrUsage wraps errors in what was asked for: exit code 2.
var ErrUsage = errors.New("wrong usage")

// ErrPreflight wraps errors before the first scenario: exit code 3.
var ErrPreflight = errors.New("preflight failed")

// suite is one run.
type suite struct {
	cfg       Config
	id        string // cf-...
	doc       *spec.Document
	dialect   *spec.Dialect
	offset    time.Duration // of the target's clock; set before the first scenario
	unbranded bool          // the target file names no prefix, and the probe found none; set before the first scenario
	receiver  *receiver.Receiver
	http      *http.Client
	number    atomic.Int64
	requests  atomic.Int64
	messages  atomic.Int64
	pace      pace
	idle      stopwatch // of all scenarios

	measuring sync.Mutex    // held while the wait before a retry is measured
	measured  bool          // it was
	wait      time.Duration // before a retry, in real time

	leftovers func() (map[string][]any, error) // of a failed run, by section of bindings.fields; made when first asked for

	receiverOnce sync.Once
	receiverURLs *regexp.Regexp

	ctx  context.Context         // of the run: its cause says why it ended early
	stop context.CancelCauseFunc // ends the run

	mu           sync.Mutex
	picked       map[string]*picked // by key of a pickle
	total        int
	results      []report.Result
	running      []string
	observations map[string][]string
	gap          time.Duration     // the longest time between two attempts that was measured
	absent       map[string]string // areas that the target lacks, and how that was seen; set before the first scenario
}

// newSuite is a run that has not begun.
func newSuite(ctx context.Context, cfg Config, doc *spec.Document) *suite {
	st := &suite{
		cfg: cfg, id: "cf" + strings.ToLower(rand.Text()[:5]), doc: doc, dialect: cfg.Target.Bindings.Dialect(),
		http: newHTTP(ctx, cfg.concurrency()), picked: map[string]*picked{}, observations: map[string][]string{},
	}
	st.ctx, st.stop = context.WithCancelCause(ctx)
	st.leftovers = sync.OnceValues(func() (map[string][]any, error) { return st.leave(st.ctx) })
	return st
}

// Run runs the scenarios that are asked for and judges the target by them. An
// error means that there is no verdict: it wraps ErrUsage or ErrPreflight, or is
// the suite's own fault.
func Run(ctx context.Context, cfg Config) (*report.Report, error) {
	doc, err := spec.Load()
	if err != nil {
		return nil, err
	}
	if cfg.FS == nil {
		cfg.FS = features.FS
	}
	cfg.Target.Fill()
	st := newSuite(ctx, cfg, doc)
	defer st.stop(nil)
	defer st.http.CloseIdleConnections()
	selection, err := choose(cfg)
	if err != nil {
		return nil, err
	}
	expected, err := target.LoadBaseline(cfg.Target.ExpectedFailures, false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	flaky, err := target.LoadBaseline(cfg.Target.KnownFlaky, true)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	st.receiver, err = receiver.New(ctx, cfg.Target.Receiver, st.dialect)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPreflight, err)
	}
	defer st.receiver.Close()
	started := now()
	if err := st.prepare(st.ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPreflight, err)
	}
	absent, err := st.preflight(st.ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPreflight, err)
	}
	st.absent = absent
	wall := cfg.Target.Limits.Wall
	ctx, cancel := context.WithTimeoutCause(st.ctx, wall, &exhausted{"limits.wall: " + wall.String()})
	defer cancel()
	st.ctx = ctx
	for i := range selection {
		p := &selection[i]
		if reason, gone := absent[p.area]; gone {
			p.result.Verdict, p.result.Detail = report.NotApplicable, reason
			st.results = append(st.results, p.result)
			continue
		}
		st.picked[p.key] = p
	}
	st.total = len(st.picked)
	for _, serial := range []bool{false, true} {
		if err := st.pass(ctx, serial); err != nil {
			return nil, err
		}
	}
	st.cut(selection)
	report := st.report(ctx, selection)
	report.Started, report.Duration, report.Waited = started, since(started), st.idle.measured()
	report.Apply(expected, started)
	report.Apply(flaky, started)
	return report, nil
}

// cut gives the scenarios that the end of the run came before their result.
func (st *suite) cut(selection []picked) {
	cause := st.over()
	if cause == nil {
		return
	}
	why := cutOff(cause)
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range selection {
		if p := &selection[i]; st.picked[p.key] == p && !p.done {
			p.result.Verdict, p.result.Reason, p.result.Detail = why.verdict, why.reason, why.detail
			st.results = append(st.results, p.result)
		}
	}
}

// pass runs the scenarios that are serial, or those that are not.
func (st *suite) pass(ctx context.Context, serial bool) error {
	var files []string
	n := 0
	for _, p := range st.picked {
		if p.serial == serial {
			n++
			if !slices.Contains(files, p.file) {
				files = append(files, p.file)
			}
		}
	}
	if n == 0 {
		return nil
	}
	slices.Sort(files)
	concurrency := st.cfg.concurrency()
	if serial {
		concurrency = 1
	}
	godog.TestSuite{
		Name:                 "understudy",
		TestSuiteInitializer: func(tc *godog.TestSuiteContext) { register(tc.ScenarioContext()) },
		ScenarioInitializer:  func(sc *godog.ScenarioContext) { st.hooks(sc, serial) },
		Options: &godog.Options{
			Format: "progress", Output: io.Discard, NoColors: true, Strict: true, FS: st.cfg.FS, Paths: files,
			Concurrency: concurrency, DefaultContext: ctx,
		},
	}.Run() // its exit code counts skips as passed; ours comes from the results
	for _, p := range st.picked {
		if p.serial == serial && !p.done && context.Cause(ctx) == nil {
			return fmt.Errorf("%s: the scenario was not run", p.result.Location)
		}
	}
	return nil
}

// hooks surround each scenario. Those that were not picked are skipped and leave
// no trace.
func (st *suite) hooks(sc *godog.ScenarioContext, serial bool) {
	sc.Before(func(ctx context.Context, pickle *godog.Scenario) (context.Context, error) {
		st.mu.Lock()
		p := st.picked[pickleKey(pickle)]
		if p != nil && p.serial == serial && ctx.Err() == nil {
			st.running = append(st.running, p.result.Name)
		}
		st.mu.Unlock()
		if p == nil || p.serial != serial || ctx.Err() != nil {
			return ctx, godog.ErrSkip
		}
		s, err := st.begin(ctx, p)
		s.note(err)
		return s.ctx, err
	})
	sc.StepContext().Before(func(ctx context.Context, _ *godog.Step) (context.Context, error) {
		if s := of(ctx); s != nil {
			s.before = s.last()
		}
		return ctx, nil
	})
	sc.StepContext().After(func(ctx context.Context, pickle *godog.Step, status godog.StepResultStatus, err error) (context.Context, error) {
		if s := of(ctx); s != nil {
			s.stepped(pickle.Text, status, err)
		}
		return ctx, nil
	})
	sc.After(func(ctx context.Context, pickle *godog.Scenario, _ error) (context.Context, error) {
		if s := of(ctx); s != nil {
			if s.result.Verdict == "" {
				s.note(s.unasserted())
			}
			s.finish()
			st.ended(pickleKey(pickle), s)
		}
		return ctx, nil
	})
}

// stepped records a step; the first that does not pass decides.
func (s *scenario) stepped(text string, status godog.StepResultStatus, err error) {
	st := report.Step{Text: text, Verdict: report.Pass}
	switch {
	case s.result.Verdict != "":
		st.Verdict = report.NotSelected // behind the one that decided
	case status == godog.StepUndefined || status == godog.StepAmbiguous || status == godog.StepPending:
		err = harness("", "no single step matches %q", text)
	}
	if s.result.Verdict == "" && err != nil {
		s.note(err)
		st.Verdict, st.Detail = s.result.Verdict, s.masked(err.Error())
		if s.result.Failure != nil {
			s.result.Failure.Step = text
		}
	}
	s.result.Steps = append(s.result.Steps, st)
}

// note turns an error into the verdict of a scenario.
func (s *scenario) note(err error) {
	r := &s.result
	if err == nil {
		return
	}
	var f *report.Failure
	var i *inconclusive
	if cause := s.suite.over(); cause != nil && !errors.As(err, &i) {
		err = cutOff(cause) // what the end of the run interrupts fails for that reason only
	}
	switch {
	case errors.As(err, &i):
		r.Verdict, r.Reason, r.Detail, r.Failure = i.verdict, i.reason, i.detail, i.failure
	case errors.As(err, &f):
		r.Verdict, r.Failure, r.Detail = report.Fail, f, err.Error()
	default:
		r.Verdict, r.Failure, r.Detail = report.Fail, &report.Failure{Message: err.Error(), Exchange: s.judged()}, err.Error()
	}
	if r.Verdict == report.Fail {
		switch r.Basis {
		case spec.Implied:
			r.Verdict = report.Warn
		case spec.Open:
			r.Verdict = report.Observed
		}
	}
}

// ended takes a scenario's result.
func (st *suite) ended(key string, s *scenario) {
	if s.result.Verdict == "" {
		s.result.Verdict = report.Pass
		if s.result.Basis == spec.Open {
			s.result.Verdict = report.Observed
		}
	}
	if s.result.Failure != nil {
		f := s.result.Failure
		for _, text := range []*string{&f.Message, &f.Want, &f.Got, &s.result.Detail} { // in the names that the target uses
			*text = s.masked(string(st.dialect.BrandText([]byte(*text))))
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.picked[key].done = true
	st.results = append(st.results, s.result)
	if i := slices.Index(st.running, s.result.Name); i >= 0 {
		st.running = slices.Delete(st.running, i, i+1)
	}
	if st.cfg.Progress != nil {
		done := 0
		for _, p := range st.picked {
			if p.done {
				done++
			}
		}
		st.cfg.Progress(done, st.total, slices.Clone(st.running), &s.result)
	}
}

// spend counts a request and holds to the limits of the target file.
func (st *suite) spend(op *spec.Operation) error {
	limits := st.cfg.Target.Limits
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
			cause := &exhausted{fmt.Sprintf("limits.%s: %d", l.name, l.most)}
			st.stop(cause)
			return cutOff(cause)
		}
	}
	return nil
}

// observe records what the target does at an open point.
func (st *suite) observe(point, value string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !slices.Contains(st.observations[point], value) {
		st.observations[point] = append(st.observations[point], value)
		slices.Sort(st.observations[point])
	}
}

func (c *Config) concurrency() int {
	switch {
	case c.Concurrency > 0:
		return c.Concurrency
	case c.Target.Isolation.Parallel > 0:
		return c.Target.Isolation.Parallel
	}
	return 8
}

// timeout is how long one scenario may take.
func (c *Config) timeout() time.Duration {
	t := c.Target.Timing
	budget := time.Duration(float64(2*t.RetryBudget+t.StatsBudget+2*t.SettleBudget) * t.Scale)
	if limits := c.Target.Limits; limits.RPS > 0 { // requests wait for their turn, however long
		return max(budget, limits.Wall)
	}
	return budget
}

// report puts the results together, in the order of the features.
func (st *suite) report(ctx context.Context, selection []picked) *report.Report {
	order := map[string]int{}
	for i := range selection {
		order[selection[i].result.Location+selection[i].result.Name] = i
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	slices.SortFunc(st.results, func(a, b report.Result) int { return order[a.Location+a.Name] - order[b.Location+b.Name] })
	t := &st.cfg.Target
	mode := "live"
	if t.Drivers["clock"].Kind == "control" {
		mode = "clock driver"
	}
	r := &report.Report{
		Suite: Version, Commit: commit(), Claimed: t.Profiles, Selection: st.cfg.selection(), Flags: st.cfg.flags(), TargetFile: t.Masked(), Bindings: t.Bindings.ByName(), Revision: t.Spec, Run: st.id, Results: st.results, Observations: st.observations,
		Target: report.Target{Name: t.Target.Name, Version: t.Target.Version, URLs: t.Target.URLs.ByName(), Mode: mode, Receiver: t.Receiver.Mode},
		Strict: st.cfg.Strict, AcceptPartial: st.cfg.Accept,
	}
	if cause := context.Cause(ctx); cause != nil {
		switch why := cutOff(cause); why.reason {
		case report.BudgetExhausted:
			r.Exhausted = cause.Error()
		case report.TargetUnreachable:
			r.Unreachable = cause.Error()
		default:
			r.Interrupted = true
		}
	}
	if register, err := spec.LoadRequirements(); err == nil {
		r.Document, r.Revision = register.Document.SHA256, cmp.Or(r.Revision, register.Revision)
	}
	if len(t.Profiles) == 0 {
		r.Absent = slices.Sorted(maps.Keys(st.absent))
	}
	var profiles []string
	for i := range selection {
		for _, p := range selection[i].result.Profiles {
			if !slices.Contains(profiles, p) {
				profiles = append(profiles, p)
			}
		}
	}
	r.Summarise(profiles)
	return r
}

// seed is that of what the suite makes up; it is the same for every run, so that
// runs can be compared.
func (c *Config) seed() int64 { return 8675309 }
