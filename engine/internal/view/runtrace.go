package view

import (
	"maps"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// maxRunSummaries is the largest and the default page of RunSummaries (extension).
const maxRunSummaries = 100

// RunSummary is a run without its steps, and what goes on in it.
type RunSummary struct {
	state.Run
	Why Reason // the first of its reasons
}

// RunSummaries lists runs without their steps, newest first.
func (a *Account) RunSummaries(f Filter) (Page[RunSummary], error) {
	return List(&a.State.IDs, "run", f, maxRunSummaries, a.State.RunList.Newest, f.MatchesRun, func(r *state.Run) RunSummary {
		return RunSummary{Run: a.retained(r), Why: a.explainRun(r)[0]}
	})
}

// retained is a copy of a run that names its DLQ entry as long as it is there.
func (a *Account) retained(r *state.Run) state.Run {
	run := *r
	if a.State.DLQ.Get(run.DLQID) == nil {
		run.DLQID = ""
	}
	return run
}

// RunTrace is a run on a time axis.
type RunTrace struct {
	Run    RunView
	Spans  []Span
	Events []Event // oldest first, as far back as the log goes
	Waits  []state.Waiter
	Why    []Reason
}

// Span is the time that a step took, from the call of the endpoint in which it
// ran to its result.
type Span struct {
	Step    state.Step // its name is empty for the call that goes on now
	Message string     // the message whose delivery ran it, "" for none
	From    time.Time
	To      time.Time // zero: it is not over
	Kept    bool      // it ran in the run that this one resumes
	Parts   []Part
}

// Part is what happened during a part of a span.
type Part struct {
	Kind string // running, failed, retrying, sleeping, waiting
	From time.Time
	To   time.Time // zero: until now
}

// RunTrace follows a run through its steps.
func (a *Account) RunTrace(run *state.Run) RunTrace {
	t := RunTrace{Run: a.Run(run), Why: a.explainRun(run)}
	t.Run.Run = a.retained(run)
	g := tracing{run: run, steps: map[int]*Span{}, plans: map[int]*carrier{}, carriers: map[*state.Message]*carrier{}}
	for _, e := range a.runEvents(run) {
		t.Events = append(t.Events, a.Event(e))
		g.follow(e)
	}
	g.inherit()
	t.Spans = g.close()
	for _, w := range a.State.Waiters {
		if w.Run == run {
			t.Waits = append(t.Waits, w.Waiter)
		}
	}
	slices.SortFunc(t.Waits, func(x, y state.Waiter) int { return x.Deadline.Compare(y.Deadline) })
	return t
}

// runEvents are the events of a run, oldest first. They are all that the log
// has: a fixture may have brought events with any time since.
func (a *Account) runEvents(run *state.Run) []*state.LogEntry {
	var list []*state.LogEntry
	for _, e := range a.State.Log.Events {
		if e.Run == run {
			list = append(list, e)
		}
	}
	return list
}

// carrier is a message that calls the endpoint: what runs during its delivery is
// known only when the endpoint reports it.
type carrier struct {
	message *state.Message
	parts   []Part
}

// tracing turns the events of a run into spans.
type tracing struct {
	run      *state.Run
	spans    []*Span
	steps    map[int]*Span    // by the id of the step
	plans    map[int]*carrier // the call that runs a parallel step, by its id
	carriers map[*state.Message]*carrier
	last     *carrier // the call that goes on with the sequence, nil when it has
}

// follow takes an event of the run. The result of a step comes with the next message, so
// what a call has done is known only when the endpoint has reported.
func (g *tracing) follow(e *state.LogEntry) {
	at := time.UnixMilli(e.At)
	if e.Message == nil {
		if it := e.StepItem(); it != nil { // a wait or an invocation begins
			if g.steps[it.Step.ID] != nil { // again, as by two branches that end at once
				return
			}
			s := g.begin(it, g.take(it.Step.ID), at)
			s.Parts = append(s.Parts, Part{Kind: "waiting", From: at})
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
	asleep := e.State == string(state.Created) && e.Message.NotBefore.After(at) // that time is the sleep's
	if c := g.carriers[e.Message]; c != nil && !asleep {
		c.parts = growParts(c.parts, state.MessageState(e.State), at)
		if s := g.steps[it.Step.ID]; e.Message.Role.Conduct().CallsOut && s != nil {
			s.Parts = c.parts
		}
	}
}

// created follows a new message: it carries a result, a plan, or a call of a
// third party.
func (g *tracing) created(m *state.Message, it *state.StepItem, at time.Time) {
	c := &carrier{message: m}
	g.carriers[m] = c
	switch {
	case m.Role.Conduct().CallsOut:
		if g.steps[it.Step.ID] == nil {
			g.begin(it, g.take(it.Step.ID), at).From = at
		}
	case it.Step.TargetStep > 0:
		if g.last != nil {
			g.add(state.Step{Name: "plan", Type: "Plan"}, g.last, at).To = at
			g.last = nil
		}
		g.plans[it.Step.TargetStep] = c
		if m.NotBefore.After(at) { // a sleep beside other steps; its result comes after it
			s := g.add(it.Step, nil, at)
			s.Message, s.To, s.Parts = m.ID, m.NotBefore, []Part{{Kind: "sleeping", From: at, To: m.NotBefore}}
			g.steps[it.Step.TargetStep] = s
		}
	default:
		g.result(it, at, m)
		g.last = c
	}
}

// result ends the span of a step; that of a sleep goes on until the next call.
func (g *tracing) result(it *state.StepItem, at time.Time, m *state.Message) {
	s := g.steps[it.Step.ID]
	if s == nil {
		s = g.begin(it, g.take(it.Step.ID), at)
	} else if c := g.plans[it.Step.ID]; c != nil {
		s.Parts = append(s.Parts, g.take(it.Step.ID).parts...)
	}
	s.Step = it.Step
	if len(s.Parts) == 0 {
		s.From = at
	}
	closeParts(s.Parts, at)
	s.To = at
	if m.NotBefore.After(at) {
		s.Parts, s.To = append(s.Parts, Part{Kind: "sleeping", From: at, To: m.NotBefore}), m.NotBefore
	}
}

// take is the call in which a step ran.
func (g *tracing) take(id int) *carrier {
	if c := g.plans[id]; c != nil {
		delete(g.plans, id)
		return c
	}
	c := g.last
	g.last = nil
	return c
}

func (g *tracing) begin(it *state.StepItem, c *carrier, at time.Time) *Span {
	s := g.add(it.Step, c, at)
	g.steps[it.Step.ID] = s
	return s
}

// add makes the span of what ran in a call until now: the call may last longer.
// A step that no known call has led to begins now.
func (g *tracing) add(step state.Step, c *carrier, now time.Time) *Span {
	s := &Span{Step: step, From: now}
	if c != nil {
		s.Message, s.Parts = c.message.ID, slices.Clone(c.parts)
		closeParts(s.Parts, now)
	}
	if len(s.Parts) > 0 {
		s.From = s.Parts[0].From
	}
	g.spans = append(g.spans, s)
	return s
}

// inherit adds the steps that a resumed run has from the one that failed, and
// those of which the log no longer knows, before all others.
func (g *tracing) inherit() {
	var before []*Span
	for i, it := range g.run.Items {
		if it.Step.TargetStep > 0 {
			continue
		}
		s := g.steps[it.Step.ID]
		if s == nil {
			s = &Span{Step: it.Step, From: g.run.CreatedAt, To: g.run.CreatedAt}
			g.steps[it.Step.ID] = s
			before = append(before, s)
		}
		s.Kept = i < g.run.Kept
	}
	g.spans = append(before, g.spans...)
}

// close adds the calls that have not led to a step, and copies the spans.
func (g *tracing) close() []Span {
	open := []*carrier{}
	for _, id := range slices.Sorted(maps.Keys(g.plans)) {
		s, c := g.steps[id], g.plans[id]
		switch {
		case s == nil:
			open = append(open, c)
		case len(c.parts) > 0: // it has woken
			s.Parts, s.To = append(s.Parts, c.parts...), c.parts[len(c.parts)-1].To
		}
	}
	if g.last != nil {
		open = append(open, g.last)
	}
	for _, c := range open {
		if len(c.parts) > 0 {
			s := g.add(state.Step{MessageID: c.message.ID, Name: c.message.AttemptedStep(c.message.Last)}, c, time.Time{})
			s.To = c.parts[len(c.parts)-1].To
		}
	}
	out := make([]Span, len(g.spans))
	for i, s := range g.spans {
		out[i] = *s
		out[i].Parts = slices.Clone(s.Parts)
		if g.run.Ended() {
			out[i].end(g.run.EndedAt)
		}
	}
	slices.SortStableFunc(out, func(x, y Span) int { return x.From.Compare(y.From) })
	return out
}

// end lets nothing last longer than the run, such as a sleep that was cancelled.
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

// growParts are the parts of a call after one more state of its message.
func growParts(parts []Part, to state.MessageState, at time.Time) []Part {
	closeParts(parts, at)
	switch to {
	case state.Created:
		return append(parts, Part{Kind: "waiting", From: at})
	case state.Active:
		return append(parts, Part{Kind: "running", From: at})
	case state.Errored:
		parts[len(parts)-1].Kind = "failed"
	case state.Retry:
		return append(parts, Part{Kind: "retrying", From: at})
	}
	return parts
}

// closeParts ends the last part if it is open; one that took no time stays, since
// the clock may stand still.
func closeParts(parts []Part, at time.Time) {
	if n := len(parts); n > 0 && parts[n-1].To.IsZero() {
		parts[n-1].To = at
	}
}
