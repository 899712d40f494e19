package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/step"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/features"
	"github.com/understudy-mock/understudy/spec"
)

// Version is the version of the suite in requests and reports.
var Version = "devel"

// Config says what to run and against what: a target, or a client.
type Config struct {
	Target target.Target
	Client *client.Config // judges a client instead of Target

	Profiles     []string           // empty: those of the target
	Basis        []spec.Basis       // empty: stated and implied
	Strict       bool               // a failed implied requirement fails the target
	Accept       bool               // a partial result is not a failure
	Tags         string             // boolean expression over tags
	Areas        []string           // only scenarios of these areas: publish, dlq ...
	Requirements []string           // only scenarios of these requirements
	Names        []string           // only these scenarios
	Repeat       int                // how often each scenario runs; 0: once, and again when it fails
	Concurrency  int                // 0: that of the target file
	Plugin       harness.PluginHost // runs the rate-limit plugin; nil: the driver of the target file
	SelfTest     bool               // for the stand-in: deliveries and failed requests that no step checked fail
	SkipCanary   bool               // preflight without a publish
	Worlds       harness.Worlds     // generated worlds; none without a count

	// Progress is called, one call at a time, when a scenario ends.
	Progress func(done, total int, running []string, last *report.Result)
	FS       fs.FS // features; nil: those of package features
}

// PluginHost starts a host application with the rate-limit plugin.
type PluginHost = harness.PluginHost

// ErrUsage marks errors in the configuration: exit code 2.
var ErrUsage = errors.New("wrong usage")

// ErrPreflight marks errors before the first scenario: exit code 3.
var ErrPreflight = errors.New("preflight failed")

// suite is one run.
type suite struct {
	cfg Config
	*harness.Suite

	started time.Time // of the preflight

	mu      sync.Mutex
	picked  map[string]*picked // by key of a pickle
	broken  map[string]*picked // requirements that an answer has broken, by id, each with the key of the scenario that got it
	running []string
}

// start begins a scenario with steps. The scenario is not nil even with an error,
// which is then its result.
func (st *suite) start(ctx context.Context, known report.Result) (*step.Scenario, error) {
	s, err := st.Begin(ctx, known)
	return step.New(s), err
}

// newSuite returns a run that has not started.
func newSuite(ctx context.Context, cfg Config) (*suite, error) {
	doc, err := spec.Load()
	if err != nil {
		return nil, err
	}
	cfg.Target.Fill()
	return &suite{
		Suite: harness.NewSuite(ctx, harness.Config{Target: cfg.Target, Concurrency: cfg.concurrency(), Plugin: cfg.Plugin, SelfTest: cfg.SelfTest, Version: Version, Worlds: cfg.Worlds}, doc),
		cfg:   cfg, picked: map[string]*picked{}, broken: map[string]*picked{},
	}, nil
}

// open starts the receiver and prepares and checks the target. It returns the areas
// that the target lacks. Its errors wrap ErrPreflight.
func (st *suite) open(ctx context.Context) (absent map[string]string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrPreflight, err)
		}
	}()
	if st.Receiver, err = receiver.New(ctx, st.Target.Receiver, st.Dialect); err != nil {
		return nil, err
	}
	st.started = harness.Now()
	if err := st.prepare(st.Context); err != nil {
		return nil, err
	}
	return st.preflight(st.Context)
}

// close stops everything that the run has started.
func (st *suite) close() {
	if st.Receiver != nil {
		st.Receiver.Close()
	}
	st.Client.CloseIdleConnections()
	st.Stop(nil)
}

// Run runs the selected scenarios and judges the target by them. An error means that
// there is no verdict: it wraps ErrUsage or ErrPreflight, or is an error of the suite itself.
func Run(ctx context.Context, cfg Config) (*report.Report, error) {
	if cfg.Client != nil {
		return runClient(ctx, cfg)
	}
	if cfg.FS == nil {
		cfg.FS = features.FS
	}
	st, err := newSuite(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer st.close()
	selection, baselines, err := choose(st.cfg)
	if err != nil {
		return nil, err
	}
	if st.Absent, err = st.open(ctx); err != nil {
		return nil, err
	}
	wall := st.Target.Limits.Wall
	ctx, cancel := context.WithTimeoutCause(st.Context, wall, &harness.Exhausted{Limit: "limits.wall: " + wall.String()})
	defer cancel()
	st.Context = ctx
	for i := range selection {
		p := &selection[i]
		if reason, gone := st.lacks(p); gone {
			p.result.Verdict, p.result.Detail = report.NotApplicable, reason
			p.judged = &p.result
			continue
		}
		st.picked[p.key] = p
	}
	if err := st.rounds(ctx); err != nil {
		return nil, err
	}
	st.cut(selection)
	judged := st.report(ctx, selection)
	judged.Started, judged.Duration, judged.Waited = st.started, report.Span(harness.Since(st.started)), report.Span(st.Idle.Measured())
	for _, b := range baselines {
		judged.Apply(b, st.started)
	}
	return judged, nil
}

// rounds runs all scenarios Config.Repeat times. When it runs them once, it runs those that
// failed again, from their start: one failure may have a cause of the moment.
func (st *suite) rounds(ctx context.Context) error {
	for range max(st.cfg.Repeat, 1) {
		if err := st.round(ctx, func(*picked) bool { return true }); err != nil {
			return err
		}
	}
	if st.cfg.Repeat > 1 {
		return nil
	}
	st.Confirm()
	return st.round(ctx, func(p *picked) bool {
		return p.judged != nil && (p.judged.Verdict == report.Fail || p.judged.Verdict == report.Warn || st.hasBroken(p.key))
	})
}

// round runs scenarios once: after all others those with the tag @last, which measure short times.
func (st *suite) round(ctx context.Context, wanted func(*picked) bool) error {
	for _, last := range []bool{false, true} {
		for _, p := range st.picked {
			p.due = p.last == last && wanted(p)
		}
		if err := st.pass(ctx, last); err != nil {
			return err
		}
	}
	return nil
}

// lacks returns why the target does not have what a scenario needs.
func (st *suite) lacks(p *picked) (reason string, gone bool) {
	for _, name := range p.needs {
		if st.Target.Capabilities[name] == "false" {
			return "the target file says: capabilities." + name + ": false", true
		}
	}
	reason, gone = st.Absent[p.area]
	return reason, gone
}

// cut sets the results of scenarios that had none when the run ended early.
func (st *suite) cut(selection []picked) {
	cause := st.Over()
	if cause == nil {
		return
	}
	why := harness.CutOff(cause)
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range selection {
		if p := &selection[i]; p.judged == nil {
			p.result.Verdict, p.result.Reason, p.result.Detail = why.Verdict, why.Reason, why.Detail
			p.judged = &p.result
		}
	}
}

// pass runs the scenarios that are due. The last ones are few at a time.
func (st *suite) pass(ctx context.Context, last bool) error {
	type due struct{ scenarios, profiles int } // number, and sum of their last profiles
	files := map[string]due{}
	for _, p := range st.picked {
		if of := files[p.file]; p.due {
			highest := 0
			for _, profile := range p.result.Profiles {
				highest = max(highest, slices.Index(target.ProfileNames, profile))
			}
			files[p.file] = due{of.scenarios + 1, of.profiles + highest}
		}
	}
	if len(files) == 0 {
		return nil
	}
	// What a target lacks delays the scenarios that need it, and these are of the later profiles.
	paths := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(files[a].profiles*files[b].scenarios-files[b].profiles*files[a].scenarios, strings.Compare(a, b))
	})
	concurrency := st.cfg.concurrency()
	if last {
		concurrency = max(1, concurrency/4)
	}
	godog.TestSuite{
		Name:                 "understudy",
		TestSuiteInitializer: func(tc *godog.TestSuiteContext) { step.Register(tc.ScenarioContext()) },
		ScenarioInitializer:  st.hooks,
		Options: &godog.Options{
			Format: "progress", Output: io.Discard, NoColors: true, Strict: true, FS: st.cfg.FS, Paths: paths,
			Concurrency: concurrency, DefaultContext: ctx,
		},
	}.Run() // ignore the exit code: it counts skipped scenarios as passed
	for _, p := range st.picked {
		if p.due && context.Cause(ctx) == nil {
			return fmt.Errorf("%s: the scenario was not run", p.result.Location)
		}
	}
	return nil
}

// hooks registers what runs before and after each scenario and step. Scenarios that
// are not due are skipped and have no result.
func (st *suite) hooks(sc *godog.ScenarioContext) {
	sc.Before(func(ctx context.Context, pickle *godog.Scenario) (context.Context, error) {
		st.mu.Lock()
		p := st.picked[pickleKey(pickle)]
		due := p != nil && p.due && ctx.Err() == nil
		if due {
			st.running = append(st.running, p.result.Name)
		}
		st.mu.Unlock()
		if !due {
			return ctx, godog.ErrSkip
		}
		s, err := st.start(ctx, p.result)
		s.Note(err)
		return s.Context, err
	})
	sc.StepContext().Before(func(ctx context.Context, st *godog.Step) (context.Context, error) {
		if s := step.Of(ctx); s != nil {
			s.Before, s.Judging = s.Last(), st.Type == messages.PickleStepType_OUTCOME
		}
		return ctx, nil
	})
	sc.StepContext().After(func(ctx context.Context, pickle *godog.Step, status godog.StepResultStatus, err error) (context.Context, error) {
		if s := step.Of(ctx); s != nil {
			s.Stepped(pickle.Text, status, err)
		}
		return ctx, nil
	})
	sc.After(func(ctx context.Context, pickle *godog.Scenario, _ error) (context.Context, error) {
		if s := step.Of(ctx); s != nil {
			if s.Result.Verdict == "" {
				s.Note(s.Unasserted())
			}
			s.Note(s.Broken())
			s.Finish()
			st.ended(pickleKey(pickle), s.Scenario)
		}
		return ctx, nil
	})
}

// ended records the result of a scenario.
func (st *suite) ended(key string, s *harness.Scenario) {
	if s.Result.Verdict == "" {
		s.Result.Verdict = report.Pass
		if s.Result.Basis == spec.Open {
			s.Result.Verdict = report.Observed
		}
	}
	st.brand(s, &s.Result)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.noteBroken(key, s)
	p := st.picked[key]
	if p.due = false; p.judged == nil {
		judged := s.Result // a pointer into the scenario would keep all that it has read
		p.judged = &judged
	} else {
		p.judged.Again(&s.Result)
	}
	if i := slices.Index(st.running, s.Result.Name); i >= 0 {
		st.running = slices.Delete(st.running, i, i+1)
	}
	if st.cfg.Progress != nil {
		done := 0
		for _, p := range st.picked {
			if p.judged != nil {
				done++
			}
		}
		st.cfg.Progress(done, len(st.picked), slices.Clone(st.running), &s.Result)
	}
}

// brand writes a result with the header names of the target.
func (st *suite) brand(s *harness.Scenario, r *report.Result) {
	texts := []*string{&r.Detail}
	if f := r.Failure; f != nil {
		texts = append(texts, &f.Message, &f.Pointer, &f.Want, &f.Got)
		if f.Want != "" && f.Got == "" {
			f.Got = "nothing"
		}
	}
	for i := range r.Steps {
		texts = append(texts, &r.Steps[i].Detail)
	}
	for i := range r.Exchanges {
		for j := range r.Exchanges[i].Problems {
			texts = append(texts, &r.Exchanges[i].Problems[j])
		}
	}
	for _, text := range texts {
		*text = s.Masked(string(st.Dialect.BrandText([]byte(*text))))
	}
}

// hasBroken reports whether a scenario was the first to get an answer that breaks a requirement.
func (st *suite) hasBroken(key string) bool {
	for _, b := range st.broken {
		if b.key == key {
			return true
		}
	}
	return false
}

// noteBroken records the requirements that answers of a scenario break. The scenario that shows
// one first must show it in each of its runs, as for other failures.
func (st *suite) noteBroken(key string, s *harness.Scenario) {
	for id := range s.Breaks {
		if st.broken[id] == nil {
			st.broken[id] = &picked{key: key}
		}
	}
	for id, b := range st.broken {
		switch now := st.brokenBy(id, s); {
		case b.key != key:
		case b.judged == nil:
			b.judged = now
		default:
			b.judged.Again(now)
		}
	}
}

// brokenBy is the result for a requirement that every answer must keep, in a scenario.
func (st *suite) brokenBy(id string, s *harness.Scenario) *report.Result {
	of := &s.Result
	r := &report.Result{
		Feature: of.Feature, Name: report.Unbroken(id), Location: of.Location, Tags: []string{"@" + id}, Requirements: []string{id},
		Basis: basisOf(id), Profiles: []string{target.ProfileOf(id)}, Verdict: report.Pass, Started: of.Started, Duration: of.Duration,
	}
	if s.Breaks[id] != nil {
		f := *s.Breaks[id]
		r.Exchanges, f.Exchange, f.Step = []report.Exchange{of.Exchanges[f.Exchange]}, 0, "an answer in the scenario: "+of.Name
		r.Verdict, r.Failure, r.Detail = report.Weigh(r.Basis, false), &f, f.Error()
		st.brand(s, r)
	}
	return r
}

// basisOf is the basis of a requirement of the register.
func basisOf(id string) spec.Basis {
	if register, err := spec.LoadRequirements(); err == nil && register.ByID(id) != nil {
		return register.ByID(id).Basis
	}
	return spec.Open
}

// withBroken adds a result for each requirement that an answer breaks although no scenario about
// it has failed.
func (st *suite) withBroken(results []report.Result) []report.Result {
	bases := st.cfg.Basis
	if len(bases) == 0 {
		bases = []spec.Basis{spec.Stated, spec.Implied}
	}
	claimed := st.cfg.Profiles
	if len(claimed) == 0 {
		claimed = st.Target.Profiles
	}
	for _, id := range slices.Sorted(maps.Keys(st.broken)) {
		b := st.broken[id].judged
		known := slices.ContainsFunc(results, func(r report.Result) bool {
			return slices.Contains(r.Requirements, id) && (r.Verdict == report.Fail || r.Verdict == b.Verdict)
		})
		if !known && slices.Contains(bases, b.Basis) && (len(claimed) == 0 || overlap(claimed, b.Profiles)) {
			results = append(results, *b)
		}
	}
	return results
}

func (c *Config) concurrency() int {
	switch {
	case c.Concurrency > 0:
		return c.Concurrency
	case c.Target.Isolation.Parallel > 0:
		return c.Target.Isolation.Parallel
	}
	return 16
}

// report combines the results, in the order of the features.
func (st *suite) report(ctx context.Context, selection []picked) *report.Report {
	results := make([]report.Result, len(selection))
	for i := range selection {
		results[i] = *selection[i].judged
	}
	results = st.withBroken(results)
	t := &st.Target
	mode := "live"
	if t.Drivers["clock"].Kind == "control" {
		mode = "clock driver"
	}
	r := st.cfg.report()
	r.Claimed, r.TargetFile, r.Bindings, r.Run, r.Results, r.Observations = t.Profiles, t.Masked(), t.Bindings.ByName(), st.ID, results, st.Observed()
	r.Target = report.Target{Name: t.Target.Name, Version: t.Target.Version, URLs: t.Target.URLs.ByName(), Mode: mode, Receiver: t.Receiver.Mode}
	r.Revision = cmp.Or(t.Spec, r.Revision)
	if cause := context.Cause(ctx); cause != nil {
		switch why := harness.CutOff(cause); why.Reason {
		case report.BudgetExhausted:
			r.Exhausted = cause.Error()
		case report.TargetUnreachable:
			r.Unreachable = cause.Error()
		default:
			r.Interrupted = true
		}
	}
	if len(t.Profiles) == 0 {
		r.Absent = slices.Sorted(maps.Keys(st.Absent))
	}
	r.Summarise(nil)
	return r
}

// report is what the reports of both kinds of run have in common.
func (c *Config) report() *report.Report {
	r := &report.Report{Suite: Version, Commit: cmp.Or(Commit, builtCommit()), Selection: c.selection(), Flags: c.flags(), Strict: c.Strict, AcceptPartial: c.Accept}
	if register, err := spec.LoadRequirements(); err == nil {
		r.Document, r.Revision = register.Document.SHA256, register.Revision
	}
	return r
}
