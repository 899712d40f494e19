package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// maxRunSummaries is the largest and the default page of RunSummaries (extension).
const maxRunSummaries = 100

// RunSummary is a run without its steps, and its current reason.
type RunSummary struct {
	state.Run
	Why         Reason // the first of its reasons
	Attempts    int    // of the message that the run waits for or failed with
	MaxAttempts int    // largest number for this message, 0 without one
	Step        string // that its latest attempt was for, "" if unknown
}

// RunSummaries lists runs without their steps, newest first unless the filter has an order.
func (a *Account) RunSummaries(f Filter) (Page[RunSummary], error) {
	a.lock()
	defer a.unlock()
	p, err := sortedPage(a, "run", f, maxRunSummaries, a.runSorting(), a.state.RunList.Newest, f.MatchesRun, func(r *state.Run) RunSummary {
		s := RunSummary{Run: a.showRun(r), Why: a.explainRun(r)[0]}
		if m, last := a.runMessage(r); m != nil {
			s.Attempts, s.MaxAttempts, s.Step = m.Attempts(), int(m.MaxRetries)+1, m.AttemptedStep(last)
		}
		return s
	})
	p.Counts = count(&f, a.state.RunList.Newest(state.NewestPosition), f.MatchesRun, func(r *state.Run) string { return string(r.State) })
	return p, err
}

// runMessage returns the message that a run waits for, or the one that it failed with while the
// DLQ or the log has it, and its latest outcome; nil for none.
func (a *Account) runMessage(r *state.Run) (*state.Message, *state.Outcome) {
	if e := a.state.DLQ.Get(r.DLQID); e != nil {
		return &e.Message, &e.Last
	}
	if r.Ended() {
		if m := a.failedMessage(r); m != nil {
			return m, m.Last
		}
		return nil, nil
	}
	for _, m := range a.state.RunMessages(r) {
		if !m.Asleep() {
			return m, m.Last
		}
	}
	return nil, nil
}

// mostEnding is how many of the events before the end of a run are searched for the reason:
// the command that ends a run adds one for each of its open messages.
const mostEnding = 1000

// failedMessage returns the message with which a run failed; nil if the log does not have it.
func (a *Account) failedMessage(r *state.Run) *state.Message {
	if r.State != state.RunFailed {
		return nil
	}
	end := a.state.Log.Index(r.EndSeq + 1)
	for _, e := range slices.Backward(a.state.Log.Events[max(0, end-mostEnding):end]) {
		if m := e.Message; e.Run == r && e.State == string(state.Failed) && m != nil && m.DecidesRun() {
			return m
		}
	}
	return nil
}

// RunTrace is a run on a time axis.
type RunTrace struct {
	Run    RunView
	Spans  []Span
	Events []Event // oldest first; the log may not have the first ones any more
	Waits  []state.Waiter
	Why    []Reason

	Lineage []Link
	Failure *LastFailure // the latest failed attempt, nil for none
}

// Span is the duration of a step, from the call of the endpoint in which it ran to its result.
type Span struct {
	Step    state.Step // its name is empty for a call that has reported no step so far
	Message string     // the message whose delivery ran it, "" for none
	From    time.Time
	To      time.Time // zero: not ended
	Kept    bool      // it ran in the predecessor, which this run resumes
	Decides bool      // it is on the critical path, which determines the duration of the run
	Parts   []Part
}

// Part is one phase of a span.
type Part struct {
	Kind    string // running, failed, canceled, retrying, sleeping, waiting
	From    time.Time
	To      time.Time     // zero: not ended
	Attempt int           // number of the attempt, from 1; 0 for other phases
	Status  int           // of the response, 0 for none
	Cause   string        // why the attempt failed
	Took    time.Duration // of the attempt, in real time: a manual clock does not move in it
}

// RunTrace returns the steps of a run on a time axis, or ErrNotFound.
func (a *Account) RunTrace(id string) (RunTrace, error) {
	a.lock()
	defer a.unlock()
	run := a.state.Runs[id]
	if run == nil {
		return RunTrace{}, unknownRun(id)
	}
	t := RunTrace{Run: a.viewRun(run), Why: a.explainRun(run)}
	g := tracing{account: a, run: run, steps: map[int][]*Span{}, done: map[*Span]bool{}, calls: map[*Span]*carrier{}, before: map[*Span][]Part{}, plans: map[int]*carrier{}, carriers: map[*state.Message]*carrier{}}
	entries := a.runEvents(run)
	for _, e := range entries {
		t.Events = append(t.Events, a.showEvent(e))
		g.follow(e)
	}
	g.inherit()
	t.Spans = g.close()
	markCritical(t.Spans)
	t.Lineage, t.Failure = a.runLineage(run, entries), a.runFailure(run, entries)
	for _, w := range a.state.Waiters {
		if w.Run == run {
			t.Waits = append(t.Waits, a.showWaiter(w))
		}
	}
	slices.SortFunc(t.Waits, func(x, y state.Waiter) int { return x.Deadline.Compare(y.Deadline) })
	return t, nil
}

// runEvents returns the events of a run, oldest first. It scans the whole log, because a
// fixture may have added events with any time.
func (a *Account) runEvents(run *state.Run) []*state.LogEntry {
	var list []*state.LogEntry
	for _, e := range a.state.Log.Events {
		if e.Run == run {
			list = append(list, e)
		}
	}
	return list
}

// carrier is a message that calls the endpoint. Which step runs during its delivery is
// known only when the endpoint reports it.
type carrier struct {
	message  *state.Message
	parts    []Part
	attempts int
	over     bool // no further attempt follows
	ends     bool // the endpoint ended the run in it
}

// tracing builds spans from the events of a run.
type tracing struct {
	account  *Account
	run      *state.Run
	spans    []*Span
	steps    map[int][]*Span // by step id; two calls may run the same step, such as after a shared wait
	done     map[*Span]bool  // the result has arrived
	calls    map[*Span]*carrier
	before   map[*Span][]Part // parts before the third-party call
	plans    map[int]*carrier // the call that runs a parallel step, by step id
	carriers map[*state.Message]*carrier
	loose    []*carrier // calls without a step so far, in the order in which they began

	unplanned int // plans of the latest parallel group that are still to come
}

// follow processes an event of the run. The result of a step comes with the next message,
// so the step of a call is known only when the endpoint has reported it.
func (g *tracing) follow(e *state.LogEntry) {
	at := time.UnixMilli(e.At)
	if e.Message == nil {
		if it := e.StepItem(); it != nil { // a wait or an invocation begins
			s := g.begin(it, g.take(it.Step.ID), at)
			s.Parts = append(s.Parts, Part{Kind: "waiting", From: at})
		} else if e.State == string(state.RunSuccess) {
			g.ended()
		}
		return
	}
	it := e.Message.Step
	if it == nil {
		return
	}
	if e.State == string(state.Created) {
		g.created(e.Message, it, at)
	}
	asleep := e.State == string(state.Created) && e.Message.NotBefore.Time().After(at) // this time belongs to the sleep
	if c := g.carriers[e.Message]; c != nil && !asleep {
		c.grow(e, at)
		if s := g.open(it.Step.ID); e.Message.Role.Conduct().CallsOut && s != nil {
			s.Parts = slices.Concat(g.before[s], c.parts)
		}
	}
}

// open returns the oldest span of a step without a result, nil for none.
func (g *tracing) open(id int) *Span {
	for _, s := range g.steps[id] {
		if !g.done[s] {
			return s
		}
	}
	return nil
}

// created processes a new message, which carries a result, a plan, or a third-party call.
func (g *tracing) created(m *state.Message, it *state.StepItem, at time.Time) {
	c := &carrier{message: m}
	g.carriers[m] = c
	switch {
	case m.Role.Conduct().CallsOut:
		s := g.open(it.Step.ID)
		if s == nil {
			s = g.begin(it, g.take(it.Step.ID), at)
		}
		g.before[s], g.calls[s], s.Message = unnumberedParts(s.Parts), c, m.ID
	case m.BearsAnswer() && g.open(it.Step.ID) != nil: // its delivery produces the result of the step
		g.loose = append(g.loose, c)
	case it.Step.TargetStep > 0:
		g.planned(it.Step.Concurrent, at)
		g.plans[it.Step.TargetStep] = c
		if m.NotBefore.Time().After(at) { // a sleep in parallel with other steps; its result comes later
			s := g.add(g.step(it), nil, at)
			s.Message, s.To, s.Parts = m.ID, m.NotBefore.Time(), []Part{{Kind: "sleeping", From: at, To: m.NotBefore.Time()}}
			g.steps[it.Step.TargetStep] = append(g.steps[it.Step.TargetStep], s)
		}
	default:
		g.result(it, at, m)
		g.loose = append(g.loose, c)
	}
}

// planned adds the call that submitted a plan, once for all plans of a parallel group: other
// calls, whose result joined the group before, may still be in flight.
func (g *tracing) planned(concurrent int, at time.Time) {
	if g.unplanned--; g.unplanned >= 0 {
		return
	}
	g.unplanned = concurrent - 1
	if before := g.taken(g.running()); before != nil {
		g.add(state.Step{Name: "plan", Type: "Plan"}, before, at).To = at
	}
}

// result ends the span of a step; the span of a sleep continues until the next call.
func (g *tracing) result(it *state.StepItem, at time.Time, m *state.Message) {
	g.unplanned = 0 // the log may not have all plans of a group
	s := g.open(it.Step.ID)
	if s == nil {
		s = g.begin(it, g.take(it.Step.ID), at)
	} else if c := g.plans[it.Step.ID]; c != nil {
		s.Parts = append(s.Parts, g.take(it.Step.ID).parts...)
	} else if i := slices.IndexFunc(g.loose, func(c *carrier) bool { return c.message.BearsAnswer() && c.message.Step.Step.ID == it.Step.ID }); i >= 0 {
		s.Parts = append(s.Parts, unnumberedParts(g.taken(i).parts)...)
	}
	s.Step, g.done[s] = g.step(it), true
	if len(s.Parts) == 0 {
		s.From = at
	}
	closeParts(s.Parts, at)
	s.To = at
	if m.NotBefore.Time().After(at) {
		s.Parts, s.To = append(s.Parts, Part{Kind: "sleeping", From: at, To: m.NotBefore.Time()}), m.NotBefore.Time()
	}
}

// take returns the call in which a step ran: the call of its plan, otherwise one without a
// step so far. Of several, such as after parallel steps, it is the latest that the endpoint
// has not answered, because the others were answered without a step.
func (g *tracing) take(id int) *carrier {
	if c := g.plans[id]; c != nil {
		delete(g.plans, id)
		return c
	}
	if at := g.running(); at >= 0 {
		return g.taken(at)
	}
	return g.taken(len(g.loose) - 1)
}

// running returns the index of the latest call without a step and without an answer, -1 for none.
func (g *tracing) running() int {
	for i, c := range slices.Backward(g.loose) {
		if !c.over && len(c.parts) > 0 {
			return i
		}
	}
	return -1
}

// ended marks the call in which the endpoint ended the run: the latest without a step that it
// has not answered, otherwise, as in a fixture, the latest without a step.
func (g *tracing) ended() {
	at := g.running()
	if at < 0 {
		at = len(g.loose) - 1
	}
	if at >= 0 {
		g.loose[at].ends = true
	}
}

// taken removes a call from loose; nil for index -1.
func (g *tracing) taken(at int) *carrier {
	if at < 0 {
		return nil
	}
	c := g.loose[at]
	g.loose = slices.Delete(g.loose, at, at+1)
	return c
}

// step is the step of an entry as the span shows it.
func (g *tracing) step(it *state.StepItem) state.Step {
	return g.account.showStep(g.run.Options.Redact.And(it.Redact), it.Step)
}

func (g *tracing) begin(it *state.StepItem, c *carrier, at time.Time) *Span {
	s := g.add(g.step(it), c, at)
	g.steps[it.Step.ID] = append(g.steps[it.Step.ID], s)
	return s
}

// add creates the span of what ran in a call until now; the call itself may last longer.
// Without a known call, the span begins now.
func (g *tracing) add(step state.Step, c *carrier, now time.Time) *Span {
	s := &Span{Step: step, From: now}
	if c != nil {
		g.calls[s] = c
		s.Message, s.Parts = c.message.ID, slices.Clone(c.parts)
		closeParts(s.Parts, now)
	}
	if len(s.Parts) > 0 {
		s.From = s.Parts[0].From
	}
	g.spans = append(g.spans, s)
	return s
}

// inherit adds the steps that come from the predecessor of a resumed run, and those missing
// in the log, before all others.
func (g *tracing) inherit() {
	var before []*Span
	seen := map[int]int{}
	for i, it := range g.run.Items {
		if it.Step.TargetStep > 0 {
			continue
		}
		n := seen[it.Step.ID]
		seen[it.Step.ID]++
		if n >= len(g.steps[it.Step.ID]) {
			s := &Span{Step: g.step(it), From: g.run.CreatedAt, To: g.run.CreatedAt}
			g.steps[it.Step.ID] = append(g.steps[it.Step.ID], s)
			before = append(before, s)
		}
		g.steps[it.Step.ID][n].Kept = i < g.run.Kept
	}
	g.spans = append(before, g.spans...)
}

// close adds the calls without a step, and copies the spans. It leaves out the calls behind
// parallel steps that did not end the run, because the endpoint answers them with an empty result.
func (g *tracing) close() []Span {
	open := []*carrier{}
	for _, id := range slices.Sorted(maps.Keys(g.plans)) {
		s, c := g.open(id), g.plans[id]
		switch {
		case s == nil:
			open = append(open, c)
		case len(c.parts) > 0: // the sleep has ended
			s.Parts, s.To = append(s.Parts, c.parts...), c.parts[len(c.parts)-1].To
		}
	}
	for _, c := range g.loose {
		if s := g.open(c.message.Step.Step.ID); s != nil && c.message.BearsAnswer() && !c.failed() { // the step is in progress
			s.Parts = append(s.Parts, unnumberedParts(c.parts)...)
			continue
		}
		if !c.answered() || c.message.Step.Step.Concurrent < 2 || c.ends {
			open = append(open, c)
		}
	}
	for _, c := range open {
		if len(c.parts) > 0 {
			name := c.message.AttemptedStep(c.message.Last)
			switch {
			case c.ends:
				name = "end of the workflow"
			case name == "" && c.answered():
				name = "answered without a step"
			}
			s := g.add(state.Step{MessageID: c.message.ID, Name: name}, c, time.Time{})
			s.To = c.parts[len(c.parts)-1].To
		}
	}
	out := make([]Span, len(g.spans))
	for i, s := range g.spans {
		out[i] = *s
		out[i].Parts = slices.Clone(s.Parts)
		out[i].answer(g.calls[s])
		if g.run.Ended() {
			out[i].end(g.run.EndedAt)
		}
	}
	slices.SortStableFunc(out, func(x, y Span) int { return x.From.Compare(y.From) })
	return out
}

// answer adds the results of the attempts, which arrive after the result of the step.
func (s *Span) answer(c *carrier) {
	if c == nil {
		return
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		at := slices.IndexFunc(c.parts, func(known Part) bool { return p.Attempt > 0 && known.Attempt == p.Attempt })
		if at >= 0 {
			p.Status, p.Cause, p.Took = c.parts[at].Status, c.parts[at].Cause, c.parts[at].Took
		}
	}
}

// answered reports whether the call was delivered.
func (c *carrier) answered() bool {
	last := len(c.parts) - 1
	return c.over && last >= 0 && c.parts[last].Kind == "running"
}

// failed reports whether an attempt failed.
func (c *carrier) failed() bool {
	return slices.ContainsFunc(c.parts, func(p Part) bool { return p.Kind == "failed" })
}

// end limits the span to the end of the run, for example for a cancelled sleep.
func (s *Span) end(at time.Time) {
	closeParts(s.Parts, at)
	for i := range s.Parts {
		s.Parts[i].From, s.Parts[i].To = earlierTime(s.Parts[i].From, at), earlierTime(s.Parts[i].To, at)
	}
	if s.From = earlierTime(s.From, at); s.To.IsZero() || s.To.After(at) {
		s.To = at
	}
}

func earlierTime(x, y time.Time) time.Time {
	if x.Before(y) {
		return x
	}
	return y
}

// grow adds a state of the message.
func (c *carrier) grow(e *state.LogEntry, at time.Time) {
	closeParts(c.parts, at)
	last := len(c.parts) - 1
	switch state.MessageState(e.State) {
	case state.Created:
		c.parts = append(c.parts, Part{Kind: "waiting", From: at})
	case state.Active:
		c.attempts++
		c.parts = append(c.parts, Part{Kind: "running", From: at, Attempt: c.attempts})
	case state.Errored:
		c.ended(last, "failed", e)
	case state.Delivered:
		c.ended(last, "running", e)
		c.over = true
	case state.Failed:
		c.over = true
	case state.Retry:
		c.parts = append(c.parts, Part{Kind: "retrying", From: at})
	case state.Canceled:
		if c.over = true; last >= 0 && c.parts[last].Kind == "running" {
			c.parts[last].Kind = "canceled"
		}
	}
}

// ended records how an attempt ended.
func (c *carrier) ended(last int, kind string, e *state.LogEntry) {
	if last < 0 {
		return // the event of its start was removed from the log
	}
	p := &c.parts[last]
	p.Kind = kind
	if e.LogDetail != nil && e.Outcome != nil {
		p.Status, p.Cause, p.Took = e.Outcome.Status, e.Outcome.Cause(), e.Outcome.Took
	}
}

// unnumberedParts returns the parts of the endpoint's calls for a step with a third-party call,
// without attempt numbers: its attempts are those of the third-party call.
func unnumberedParts(parts []Part) []Part {
	list := slices.Clone(parts)
	for i := range list {
		list[i].Attempt = 0
	}
	return list
}

// closeParts ends the last part if it is open. A part of zero length stays, because a
// manual clock may not move.
func closeParts(parts []Part, at time.Time) {
	if n := len(parts); n > 0 && parts[n-1].To.IsZero() {
		parts[n-1].To = at
	}
}
