package explore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/query"
)

// Config says what is tried.
type Config struct {
	Keys        []string      // JSON pointers of members of bodies that identify them, such as /order
	Allow       []Allowed     // lawful differences
	Order       []Order       // rules on the order of effects
	Faults      []Fault       // empty: all
	Depth       int           // faults in a plan: 1 or 2; 0: 2
	Variants    bool          // also the forms of faults that most applications cannot tell from others
	NoReduction bool          // also pairs whose traces or points show the same as others
	Cases       int           // most cases, 0: no bound
	Budget      time.Duration // real time; 0: one minute
	CaseTimeout time.Duration // real time of a case; 0: 10 s
	Case        Plan          // only this one; nil: search
	Progress    func(p Progress)
}

// Progress is how far the search is.
type Progress struct {
	Level, Done, Of, Findings int
	Took                      time.Duration
}

// Finding is the smallest plan after which the application does something else.
type Finding struct {
	ID       string       `json:"id"` // short form of the plan
	Plan     Plan         `json:"plan"`
	Breaches []Breach     `json:"breaches"`
	Seen     int          `json:"seen"`             // how often the plan showed it
	Tried    int          `json:"tried"`            // how often the plan was tried
	Others   []Plan       `json:"others,omitempty"` // further plans that show a difference of this one
	Case     *Observation `json:"case"`
	Replay   string       `json:"replay,omitempty"` // file
}

// Known is a finding that the user knows.
type Known struct {
	Finding *Finding `json:"finding"`
	Reason  string   `json:"reason"`
	Issue   string   `json:"issue,omitempty"`
}

// Result is what a search found.
type Result struct {
	Baseline  *Observation `json:"baseline"`
	Findings  []*Finding   `json:"findings"`
	Known     []Known      `json:"known,omitempty"`    // findings that do not count, by a file of the user
	Unstable  []*Finding   `json:"unstable,omitempty"` // did not appear in each repetition
	Cases     []Tried      `json:"cases"`
	Levels    []Level      `json:"levels"`
	LeftOut   LeftOut      `json:"leftOut"`
	Allowed   []Allowed    `json:"allowed,omitempty"`
	Took      float64      `json:"seconds"`
	Stopped   string       `json:"stopped,omitempty"` // why the search ended early
	Volatile  []string     `json:"volatile,omitempty"`
	Repeated  []string     `json:"repeated,omitempty"` // effects that one run has more than once without faults
	Idle      []string     `json:"idle,omitempty"`     // failure callbacks that were answered 2xx and changed nothing
	Unreached int          `json:"unreached"`
}

// Tried is a case and whether it was a finding.
type Tried struct {
	Plan    Plan   `json:"plan"`
	Outcome string `json:"outcome"` // same, finding, unreached
}

// Handler is what the first fault of the case is for: the path or the step of its point.
func (t *Tried) Handler() string {
	if len(t.Plan) == 0 {
		return ""
	}
	return strings.TrimSpace(handler(t.Plan[0].Point))
}

// Level counts the plans of one size.
type Level struct {
	Faults int `json:"faults"`
	Done   int `json:"done"`
	All    int `json:"all"`
}

// LeftOut counts the plans that were not tried because others show the same.
type LeftOut struct {
	SameTrace int `json:"sameTrace"`
	Unrelated int `json:"unrelated"`
	TooLarge  int `json:"tooLarge,omitempty"` // single faults that were not extended: the traces take too much memory
}

// complete sets the defaults.
func (c *Config) complete() {
	c.CaseTimeout = cmp.Or(c.CaseTimeout, 10*time.Second)
	c.Budget = cmp.Or(c.Budget, time.Minute)
	c.Depth = cmp.Or(c.Depth, 2)
}

// ErrBaseline means that the scenario fails, or does not repeat, without faults.
var ErrBaseline = errors.New("baseline")

// Worker is a service with an application.
type Worker struct {
	Service  *Service
	Scenario Scenario
}

// explorer is a search in progress.
type explorer struct {
	cfg      Config
	workers  []Worker
	baseline *Observation
	rank     map[string]int
	volatile map[string]bool
	limit    time.Duration // real time of a case
	hasty    bool          // cases need not wait until the application is quiet
	extended []extended
	traces   map[[sha256.Size]byte]bool // of the extended cases
	heard    map[string]bool            // handlers of failure callbacks that were looked at
	kept     int                        // bytes of the extended cases
	started  time.Time
	result   *Result
}

// extended is a case of one fault without a finding, to which faults at later points are added.
type extended struct {
	choice Choice
	later  []Point // related to it
}

// Bounds of a search.
const (
	maxKept     = 64 << 20 // bytes of the traces that are extended
	maxFindings = 100
	maxTraces   = 20 // of findings in reports
)

// Run explores a scenario. Each worker plays one case at a time.
func Run(ctx context.Context, cfg Config, workers ...Worker) (*Result, error) {
	x := &explorer{cfg: cfg, workers: workers, started: now(), traces: map[[sha256.Size]byte]bool{}, heard: map[string]bool{}, result: &Result{Allowed: cfg.Allow}}
	x.cfg.complete()
	x.limit = max(x.cfg.CaseTimeout, x.cfg.Budget)
	defer func() { x.result.Took = now().Sub(x.started).Seconds() }()
	if err := x.baselines(ctx); err != nil {
		return x.result, err
	}
	if cfg.Case != nil {
		return x.result, x.one(ctx, cfg.Case)
	}
	return x.result, x.search(ctx)
}

// slowCase is how much longer than the first case a case may take.
const slowCase = 5

// baselines runs the scenario three times without faults: it must end, and repeat. A fourth run shows
// whether cases must wait until the application is quiet.
func (x *explorer) baselines(ctx context.Context) error {
	first, err := x.runCase(ctx, x.workers[0], nil, false)
	if err != nil {
		return err
	}
	x.result.Baseline, x.result.Repeated = first, first.repeated
	switch {
	case first.Unfinished != "":
		return fmt.Errorf("%w: the scenario fails without a fault: %s", ErrBaseline, first.Unfinished)
	case first.Check != "":
		return fmt.Errorf("%w: the check fails without a fault: %s", ErrBaseline, first.Check)
	case len(first.Trace) == 0:
		return fmt.Errorf("%w: the scenario publishes nothing to %s: nothing can be explored", ErrBaseline, x.workers[0].Service.URL)
	}
	x.baseline, x.rank, x.volatile = first, first.order(), map[string]bool{}
	if failed := x.failed(first); failed != "" {
		if _, err := x.again(ctx); err != nil { // what does not repeat may be why
			return err
		}
		return fmt.Errorf("%w: the scenario fails without a fault: %s", ErrBaseline, failed)
	}
	x.limit = max(x.cfg.CaseTimeout, slowCase*now().Sub(x.started))
	for range 2 {
		if err := x.repeatBaseline(ctx, true); err != nil {
			return err
		}
	}
	hasty, err := x.runCase(ctx, x.workers[0], nil, true)
	if err != nil {
		return err
	}
	x.hasty = !x.differs(hasty) && !x.inBackground()
	for place := range x.volatile {
		x.result.Volatile = append(x.result.Volatile, place)
	}
	slices.Sort(x.result.Volatile)
	return nil
}

// failed is why a baseline is not one of an application that works; "" if it is. allow names the messages that are
// in the DLQ without a fault.
func (x *explorer) failed(o *Observation) string {
	for _, name := range o.DLQ {
		if !slices.ContainsFunc(x.cfg.Allow, func(a Allowed) bool { return query.Like(a.DLQ, name) }) {
			return "in the DLQ: " + name + "; if that is right, allow it with dlq"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Runs)) {
		if o.Runs[name] == string(engine.RunStarted) {
			return "run " + name + " does not end"
		}
	}
	if b := x.orderBreaches(o); len(b) > 0 {
		return b[0].Text
	}
	return ""
}

// repeatBaseline runs the scenario again without faults and compares. While learning, places of
// the state that differ are volatile; later they show that the reset is not complete.
func (x *explorer) repeatBaseline(ctx context.Context, learning bool) error {
	again, err := x.again(ctx)
	if err != nil {
		return err
	}
	if learning {
		x.differences("", x.baseline.State, again.State, x.learn)
	}
	if b := x.breaches(again); len(b) > 0 {
		if learning {
			return fmt.Errorf("%w: the scenario does not repeat: %s%s", ErrBaseline, b[0].Text, suspicion)
		}
		return fmt.Errorf("%w: the reset of the application is not complete, the scenario without a fault now gives: %s", ErrBaseline, b[0].Text)
	}
	return nil
}

// again runs the scenario without faults, which must do the same.
func (x *explorer) again(ctx context.Context) (*Observation, error) {
	again, err := x.runCase(ctx, x.workers[0], nil, false)
	if err != nil {
		return nil, err
	}
	if difference := traceDifference(x.baseline.Trace, again.Trace); difference != "" {
		return nil, fmt.Errorf("%w: the scenario does not repeat: %s%s", ErrBaseline, difference, suspicion)
	}
	return again, nil
}

// suspicion is what mostly makes a scenario not repeat.
const suspicion = "; either the reset forgets something, or the application does something at random or in the background"

// traceDifference is the first difference of two traces; "" for none.
func traceDifference(a, b []Point) string {
	for i := range min(len(a), len(b)) {
		if before, now, differ := stepNames(a[i].Name, b[i].Name); differ {
			return fmt.Sprintf("a step of a run was named %q, and then %q; each call of a run must name its steps alike: no random value, time or counter of the process (%s)", before, now, a[i].Name)
		}
		if a[i].Name != b[i].Name || a[i].Outcome != b[i].Outcome {
			return fmt.Sprintf("point %d was %s (%s), and then %s (%s)", i+1, a[i].Name, a[i].Outcome, b[i].Name, b[i].Outcome)
		}
	}
	if len(a) != len(b) {
		longer := a
		if len(b) > len(a) {
			longer = b
		}
		return fmt.Sprintf("%d points, and then %d; the first that is not in both is %s", len(a), len(b), longer[min(len(a), len(b))].Name)
	}
	return ""
}

// stepNames returns the names of the steps that two calls of the same cause submit, and whether they differ.
func stepNames(a, b string) (before, now string, differ bool) {
	causeA, a := cutLast(a)
	causeB, b := cutLast(b)
	a, isA := strings.CutPrefix(a, stepPrefix)
	b, isB := strings.CutPrefix(b, stepPrefix)
	if !isA || !isB || causeA != causeB {
		return "", "", false
	}
	before, now = a[:strings.LastIndex(a, "#")], b[:strings.LastIndex(b, "#")]
	return before, now, before != now
}

// choices are the faults that apply at a point.
func (x *explorer) choices(p *Point) []Choice {
	var out []Choice
	if strings.HasSuffix(p.Name, againSuffix) {
		return nil
	}
	for _, k := range faultKinds {
		wanted := len(x.cfg.Faults) == 0 && !k.Off || x.cfg.Variants && k.Fault.isVariant() || slices.Contains(x.cfg.Faults, k.Fault) || !k.Off && slices.Contains(x.cfg.Faults, "default")
		ordered := p.Queue && (k.Fault == Late || k.Fault == RepeatLate)
		failed := (k.Fault == Repeat || k.Fault == RepeatLate) && p.failed()
		final := k.Fault == Down && p.final() // it is not in the DLQ, or retrying that comes too late for who waits
		if wanted && k.At == p.Kind && !ordered && !failed && !final {
			out = append(out, Choice{p.Name, k.Fault})
		}
	}
	return out
}

// final reports whether a run receives the failure at a point: of a call that it makes, or of a run that it invokes.
func (p *Point) final() bool {
	return strings.HasPrefix(handler(p.Base), string(engine.RoleCall)+" ") || strings.Count(p.Base, " > run ") > 1
}

// handler is what a point with this name does, without its cause: points of one handler are tried after one of
// each other handler.
func handler(name string) string {
	_, name = cutLast(name)
	what, _, _ := strings.Cut(name, "{")
	return what
}

// cutLast cuts a name into its cause and what happens.
func cutLast(name string) (cause, what string) {
	i := strings.LastIndex(name, " > ")
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+len(" > "):]
}

// singles are all plans with one fault: one point of each handler first, then the others.
func (x *explorer) singles() []Plan {
	var first, rest []Plan
	tried := map[string]bool{}
	for i := range x.baseline.Trace {
		p := &x.baseline.Trace[i]
		for _, c := range x.choices(p) {
			if kind := handler(p.Base) + string(c.Fault); !tried[kind] {
				tried[kind] = true
				first = append(first, Plan{c})
			} else {
				rest = append(rest, Plan{c})
			}
		}
	}
	return append(first, rest...)
}

// search tries all single faults, then pairs.
func (x *explorer) search(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, x.cfg.Budget)
	defer cancel()
	err := x.level(limited, 1, slices.Values(x.singles()))
	if err == nil && x.cfg.Depth > 1 {
		err = x.level(limited, 2, x.pairs())
	}
	return x.stopped(ctx, err)
}

// errEnough ends a search at its bound.
var errEnough = errors.New("enough")

// stopped notes why a search ended early; what it found counts.
func (x *explorer) stopped(ctx context.Context, err error) error {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		x.result.Stopped = "interrupted"
	case errors.Is(err, errEnough):
		_, x.result.Stopped, _ = strings.Cut(err.Error(), ": ")
	case errors.Is(err, context.DeadlineExceeded):
		x.result.Stopped = fmt.Sprintf("after %s", x.cfg.Budget)
	default:
		return err
	}
	return nil
}

// level tries plans of one size.
func (x *explorer) level(ctx context.Context, faults int, plans iter.Seq[Plan]) error {
	l := Level{Faults: faults}
	for range plans {
		l.All++
	}
	x.result.Levels = append(x.result.Levels, l)
	done := &x.result.Levels[len(x.result.Levels)-1].Done
	var some, before []Plan
	for plan := range plans {
		if some = append(some, plan); len(some) < len(x.workers) && *done+len(some) < l.All {
			continue
		}
		if err := x.try(ctx, some, before, *done+len(some) < l.All); err != nil {
			return err
		}
		was := *done
		*done += len(some)
		if faults == 1 && was < 10 && (*done >= 10 || *done == l.All) { // a reset that forgets something shows itself early
			if err := x.repeatBaseline(ctx, false); err != nil {
				return err
			}
		}
		if x.cfg.Progress != nil {
			x.cfg.Progress(Progress{faults, *done, l.All, len(x.result.Findings), now().Sub(x.started)})
		}
		some, before = nil, some
	}
	return nil
}

// try runs a plan on each worker, and judges the cases. A hasty case that differs runs again, and waits until the
// application is quiet. If it differs no more, or the application works in the background, this case may have
// what came too late for the one before: from now on all cases wait, those before as well.
func (x *explorer) try(ctx context.Context, some, before []Plan, hasty bool) error {
	switch {
	case x.cfg.Cases > 0 && len(x.result.Cases)+len(some) > x.cfg.Cases:
		return fmt.Errorf("%w: after %d cases", errEnough, x.cfg.Cases)
	case len(x.result.Findings) >= maxFindings:
		return fmt.Errorf("%w: after %d findings", errEnough, maxFindings)
	}
	was := x.hasty
	seen, err := x.runAll(ctx, some, hasty && was)
	if was && err == nil && (slices.ContainsFunc(seen, x.differs) || x.inBackground()) {
		first := seen
		seen, err = x.runAll(ctx, some, false)
		x.hasty = !x.inBackground()
		for i := range seen {
			x.hasty = x.hasty && err == nil && x.differs(first[i]) == x.differs(seen[i])
		}
	}
	if err != nil {
		return err
	}
	if len(before) > 0 && was != x.hasty {
		x.result.Cases = x.result.Cases[:len(x.result.Cases)-len(before)]
		if err := x.try(ctx, before, nil, false); err != nil {
			return err
		}
	}
	for i, plan := range some {
		if err := x.judge(ctx, plan, seen[i]); err != nil {
			return err
		}
	}
	return nil
}

// inBackground reports whether an application works in the background.
func (x *explorer) inBackground() bool {
	return slices.ContainsFunc(x.workers, func(w Worker) bool { return w.Service.Conductor.inBackground() })
}

// differs reports whether a case is not like the baseline, or was not reached.
func (x *explorer) differs(o *Observation) bool { return o.Unreached || len(x.breaches(o)) > 0 }

// runAll runs as many plans as there are workers, at the same time.
func (x *explorer) runAll(ctx context.Context, plans []Plan, hasty bool) ([]*Observation, error) {
	out, errs := make([]*Observation, len(plans)), make([]error, len(plans))
	var running sync.WaitGroup
	for i, plan := range plans {
		running.Go(func() { out[i], errs[i] = x.runCase(ctx, x.workers[i], plan, hasty) })
	}
	running.Wait()
	return out, errors.Join(errs...)
}

// judge compares a case with the baseline. A difference is confirmed and becomes a finding.
func (x *explorer) judge(ctx context.Context, plan Plan, o *Observation) (err error) {
	outcome, broken := "same", x.breaches(o)
	switch {
	case o.Unreached:
		outcome = "unreached"
		x.result.Unreached++
	case len(broken) > 0:
		outcome = "finding"
		err = x.confirm(ctx, &Finding{ID: plan.ID(), Plan: plan, Breaches: broken, Seen: 1, Tried: 1, Case: o})
	default:
		x.keep(plan, o)
		err = x.idle(ctx, plan, o)
	}
	x.result.Cases = append(x.result.Cases, Tried{plan, outcome})
	return err
}

// idle notes a failure callback that was answered 2xx and changed nothing, although something is missing: nobody learns of
// the failure. One of each handler is left out for that.
func (x *explorer) idle(ctx context.Context, plan Plan, o *Observation) error {
	if o.Repaired || o.State == nil || len(plan) > 1 || x.sameEnd(x.baseline, o) {
		return nil
	}
	for _, p := range o.Trace {
		if !p.Told || p.failed() || p.Fault != "" || x.heard[handler(p.Base)] {
			continue
		}
		x.heard[handler(p.Base)] = true
		without, err := x.runCase(ctx, x.workers[0], append(slices.Clone(plan), Choice{p.Name, missed}), false)
		if err != nil {
			return err
		}
		if x.sameEnd(without, o) {
			x.result.Idle = append(x.result.Idle, p.Name)
		}
	}
	return nil
}

// sameEnd reports whether two cases have the same effects and state.
func (x *explorer) sameEnd(a, b *Observation) bool {
	same := maps.Equal(a.Effects, b.Effects)
	x.differences("", a.State, b.State, func(string, any, any) { same = false })
	return same
}

// repetitions is how often a difference must appear again.
const repetitions = 3

// confirm repeats a plan.
func (x *explorer) confirm(ctx context.Context, f *Finding) error {
	for _, known := range x.result.Findings {
		if known.same(f) || x.outsideSteps(known) && x.outsideSteps(f) {
			known.Others = append(known.Others, f.Plan)
			return nil
		}
	}
	for range repetitions {
		o, err := x.runCase(ctx, x.workers[0], f.Plan, false)
		if err != nil {
			return err
		}
		f.Tried++
		if b := x.breaches(o); len(b) > 0 && b[0].Oracle == f.Breaches[0].Oracle {
			f.Seen++
		}
	}
	if f.Seen < f.Tried {
		x.result.Unstable = append(x.result.Unstable, f)
		return nil
	}
	if len(x.result.Findings) >= maxTraces {
		f.Case.Trace = nil
	}
	x.result.Findings = append(x.result.Findings, f)
	return nil
}

// same reports whether another finding has the cause of this one, as far as that can be seen: they have a difference in
// common, and each fault of this plan is for a handler that a fault of the other is for.
func (f *Finding) same(other *Finding) bool {
	var theirs []string
	for _, c := range other.Plan {
		theirs = append(theirs, c.handlers()...)
	}
	elsewhere := slices.ContainsFunc(f.Plan, func(c Choice) bool {
		return !slices.ContainsFunc(c.handlers(), func(one string) bool { return slices.Contains(theirs, one) })
	})
	return !elsewhere && slices.ContainsFunc(f.Breaches, func(b Breach) bool {
		return slices.ContainsFunc(other.Breaches, func(o Breach) bool { return kindOfText(b.Text) == kindOfText(o.Text) })
	})
}

// handlers are what a fault is for: the handler of a delivery, or the one that makes a call, and the one that its message is for.
func (c Choice) handlers() []string {
	plain := func(name string) string { return strings.TrimSpace(withoutNumber(handler(name))) }
	name, _, _ := strings.Cut(c.Point, "@")
	if kindOf(c.Fault).At == delivery {
		return []string{plain(name)}
	}
	cause, call := cutLast(name)
	_, to, _ := strings.Cut(plain(call), " ")
	return []string{plain(cause), to}
}

// outsideSteps reports whether a finding is an effect that a run repeats without a fault as well.
func (x *explorer) outsideSteps(f *Finding) bool {
	return slices.ContainsFunc(x.result.Repeated, func(repeated string) bool {
		effect, _, _ := strings.Cut(repeated, " in ")
		return strings.Contains(f.Breaches[0].Text, " effect: "+effect+", ")
	})
}

// kindOfText is the part of a difference before its keys and values, without numbers.
func kindOfText(text string) string {
	what, _, _ := strings.Cut(text, "{")
	what, _, _ = strings.Cut(what, " is ")
	return number.ReplaceAllString(what, "0")
}

var number = regexp.MustCompile(`\d+`)

// keep keeps a case of one fault without a finding, to extend it, unless another has its trace.
// Points of other keys and causes are left out.
func (x *explorer) keep(plan Plan, o *Observation) {
	if len(plan) > 1 || x.cfg.Depth < 2 {
		return
	}
	trace := o.outcomes()
	at := slices.IndexFunc(o.Trace, func(p Point) bool { return p.Name == plan[0].Point })
	switch {
	case x.traces[trace] && !x.cfg.NoReduction:
		x.result.LeftOut.SameTrace++
	case x.kept > maxKept:
		x.result.LeftOut.TooLarge++
	case at >= 0: // otherwise it has another name in the trace, as the second delivery of repeat-late
		x.traces[trace] = true
		e := extended{choice: plan[0]}
		for _, p := range o.Trace[at+1:] {
			if x.cfg.NoReduction || related(plan[0].Point, &p) {
				e.later = append(e.later, p)
				x.kept += int(unsafe.Sizeof(p)) + len(p.Name) + len(p.Base)
			} else {
				x.result.LeftOut.Unrelated++
			}
		}
		x.extended = append(x.extended, e)
	}
}

// pairs extends each single fault without a finding by a fault at a later point of its trace, first at the
// points that the fault has made.
func (x *explorer) pairs() iter.Seq[Plan] {
	return func(yield func(Plan) bool) {
		for _, fresh := range []bool{true, false} {
			for _, e := range x.extended {
				for i := range e.later {
					p := &e.later[i]
					_, ordinary := x.rank[p.Base]
					if fresh == (!ordinary || strings.HasSuffix(p.Name, "@1")) && !x.extend(e.choice, p, yield) {
						return
					}
				}
			}
		}
	}
}

// extend yields the plans with one more fault, at a point.
func (x *explorer) extend(first Choice, p *Point, yield func(Plan) bool) bool {
	for _, c := range x.choices(p) {
		if !yield(Plan{first, c}) {
			return false
		}
	}
	return true
}

// ofRun reports whether a name is that of a call of a run.
func ofRun(name string) bool { return strings.Contains(name, " > run ") }

// related reports whether two points have a key, or a cause, in common.
func related(point string, p *Point) bool {
	if keyIn(point) == p.Key {
		return true
	}
	base, _, _ := strings.Cut(point, "@")
	return strings.HasPrefix(p.Base, base) || strings.HasPrefix(base, p.Base)
}

// Again plays a plan of a result once more, on another service and application, for a file that
// shows it.
func Again(ctx context.Context, cfg Config, r *Result, plan Plan, w Worker) error {
	x := &explorer{cfg: cfg, rank: r.Baseline.order(), limit: max(cfg.CaseTimeout, cfg.Budget)}
	x.cfg.complete()
	_, err := x.runCase(ctx, w, plan, false)
	return err
}

// one runs a single plan, given by its short form, and reports what it shows.
func (x *explorer) one(ctx context.Context, plan Plan) error {
	o, err := x.runCase(ctx, x.workers[0], plan, false)
	if err != nil {
		return err
	}
	if o.Unreached {
		return fmt.Errorf("case %s: not reached: no point of the scenario has this name any more", plan.ID())
	}
	plan = x.named(plan, o)
	outcome := "same"
	if b := x.breaches(o); len(b) > 0 {
		outcome = "finding"
		x.result.Findings = append(x.result.Findings, &Finding{ID: plan.ID(), Plan: plan, Breaches: b, Seen: 1, Tried: 1, Case: o})
	}
	x.result.Cases = append(x.result.Cases, Tried{plan, outcome})
	return nil
}

// named replaces the short names in a plan by the names of the points.
func (x *explorer) named(plan Plan, o *Observation) Plan {
	out := slices.Clone(plan)
	for i := range out {
		for _, p := range o.Trace {
			if hash(p.Name) == out[i].Point {
				out[i].Point = p.Name
			}
		}
	}
	return out
}
