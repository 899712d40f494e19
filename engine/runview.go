package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// The states of a step in the run view (wire.md, "Run views").
const (
	StepProgress = "STEP_PROGRESS"
	StepSuccess  = "STEP_SUCCESS"
	StepRetry    = "STEP_RETRY"
	StepFailed   = "STEP_FAILED"
	StepCanceled = "STEP_CANCELED"
)

// RunView is a run as the run view shows it (extension).
type RunView struct {
	Run
	Groups  []StepGroup
	Failure *DLQEntry // with a failure callback, nil without one
}

// StepGroup is one step, the steps of a parallel branch, or the next call.
type StepGroup struct {
	Type  string // sequential, parallel, next
	Steps []StepView
}

// StepView is a step with its progress.
type StepView struct {
	Step
	State      string
	Header     Header
	Retries    int // limit
	RetryDelay string
	NextAt     time.Time
	Errors     []StepError
}

// RunViews lists runs, newest first.
func (a *Account) RunViews(f Filter) (Page[RunView], error) {
	a.lock()
	defer a.unlock()
	return listPage(a, "run", f, maxRunViews, a.state.RunList.Newest, f.wholeRun, a.viewRun)
}

// maxRunViews is the largest and the default page of the run view.
const maxRunViews = 10

func (a *Account) viewRun(run *Run) RunView {
	v := RunView{Run: *run}
	if e := a.state.DLQ.Get(run.DLQID); e != nil && e.Callback != nil {
		failure := *e
		v.Failure = &failure
	}
	g := grouping{account: a, run: run, header: state.MergeHeader(a.runHeader(run), run.Forward), slots: map[int]*StepView{}, done: map[int]bool{}}
	var before *state.StepItem
	for i, it := range run.Items {
		g.add(it, before, i == len(run.Items)-1)
		before = it
	}
	for _, it := range run.Open {
		g.pending(it)
	}
	for _, id := range slices.Sorted(maps.Keys(run.Calls)) { // the same view every time
		if !g.done[id] {
			g.pending(run.Calls[id])
		}
	}
	v.Groups = g.groups
	return v
}

// grouping builds the groups of a run from its step list.
type grouping struct {
	account *Account
	run     *Run
	header  Header // that every call to the endpoint carries
	groups  []StepGroup
	slots   map[int]*StepView // step id -> its place in a parallel group
	done    map[int]bool      // step ids with a result
}

// add takes the next entry of the list. Its step ran in the call that carried
// the entry before it, and so do the failed attempts of that call belong to it.
func (g *grouping) add(it, before *state.StepItem, last bool) {
	s := it.Step
	switch {
	case s.TargetStep > 0:
		g.plan(it)
		return
	case s.Concurrent > 1:
		g.done[s.ID] = true
		if slot := g.slots[s.ID]; slot != nil {
			attempts := slot.Errors // those of its plan
			*slot = g.view(it, StepSuccess)
			slot.Errors = attempts
		}
	default:
		g.done[s.ID] = true
		v := g.view(it, StepSuccess)
		switch {
		case it.Settled != "":
			v.State = it.Settled
		case g.account.asleep(it):
			v.State = StepProgress
		}
		v.Errors = nil
		if before != nil && before.Step.TargetStep == 0 {
			v.Errors = before.Errors
		}
		g.groups = append(g.groups, StepGroup{Type: "sequential", Steps: []StepView{v}})
	}
	if last {
		g.next(it)
	}
}

// plan gives each step of a parallel branch its place.
func (g *grouping) plan(it *state.StepItem) {
	s := it.Step
	n := len(g.groups)
	if n == 0 || g.groups[n-1].Type != "parallel" || len(g.groups[n-1].Steps) == cap(g.groups[n-1].Steps) {
		g.groups = append(g.groups, StepGroup{Type: "parallel", Steps: make([]StepView, 0, min(max(1, s.Concurrent), len(g.run.Items)))})
		n++
	}
	group := &g.groups[n-1]
	v := g.view(it, g.progress(it))
	v.ID, v.TargetStep = s.TargetStep, 0
	group.Steps = append(group.Steps, v) // never beyond its capacity: slots stay where they are
	g.slots[s.TargetStep] = &group.Steps[len(group.Steps)-1]
}

// pending shows a wait, a call or an invocation that has not come back.
func (g *grouping) pending(it *state.StepItem) {
	state := StepProgress
	m := g.account.state.Messages[it.MessageID]
	switch {
	case it.Settled != "":
		state = it.Settled
	case m != nil && m.Retried > 0:
		state = StepRetry
	case g.run.Ended() && it.Step.Type != "Invoke": // what was invoked continues
		state = StepCanceled
	}
	if slot := g.slots[it.Step.ID]; slot != nil {
		*slot = g.view(it, state)
		return
	}
	if n := len(g.groups); n > 0 && g.groups[n-1].Type == "next" {
		g.groups = g.groups[:n-1]
	}
	g.groups = append(g.groups, StepGroup{Type: "sequential", Steps: []StepView{g.view(it, state)}})
}

// next shows the call that follows the last entry, unless it has led on.
func (g *grouping) next(it *state.StepItem) {
	state := g.progress(it)
	if state == StepSuccess || it.Settled != "" || g.account.asleep(it) {
		return
	}
	v := g.view(it, state)
	v.Step = Step{MessageID: it.MessageID, CreatedAt: v.CreatedAt}
	if n := len(it.Errors); n > 0 {
		last := &it.Errors[n-1]
		v.Name = g.account.cfg.Wire.ReadAnswer(&Outcome{Status: last.Status, Header: last.Header}).Step
	}
	g.groups = append(g.groups, StepGroup{Type: "next", Steps: []StepView{v}})
}

// progress is the state of the call that carries an entry.
func (g *grouping) progress(it *state.StepItem) string {
	switch it.Ended {
	case Delivered:
		switch {
		case it.Step.TargetStep > 0 && g.run.Ended():
			return StepCanceled // its result was refused, or will be
		case it.Step.TargetStep > 0:
			return StepProgress // the endpoint has not reported the result yet
		}
		return StepSuccess
	case Failed:
		return StepFailed
	case Canceled:
		return StepCanceled
	}
	if m := g.account.state.Messages[it.MessageID]; m != nil && m.Retried > 0 {
		return StepRetry
	}
	return StepProgress
}

func (g *grouping) view(it *state.StepItem, state string) StepView {
	v := StepView{Step: it.View(g.run.Options.Redact), State: state, Header: g.header, Retries: g.run.Options.EffectiveRetries(), Errors: it.Errors}
	if it.CallType == "toCallback" {
		v.Header = it.Step.CallHeader
	}
	if g.run.Options.RetryDelay != nil {
		v.RetryDelay = g.run.Options.RetryDelay.String()
	} else if v.Retries > 0 {
		v.RetryDelay = "min(86400, exp(2.5 * (retried + 1))) * 1000"
	}
	if m := g.account.state.Messages[it.MessageID]; m != nil {
		v.NextAt = m.NextAt
	}
	if v.CreatedAt.IsZero() { // an entry of a snapshot from before it was kept
		v.CreatedAt = g.run.CreatedAt
	}
	return v
}

// asleep reports whether the entry is a sleep that is not over.
func (a *Account) asleep(it *state.StepItem) bool {
	m := a.state.Messages[it.MessageID]
	return m != nil && m.State == Created && m.NextAt.After(a.state.Now) && (it.Step.Type == "SleepFor" || it.Step.Type == "SleepUntil")
}

// viewEventRun fills in what an event says of its run.
func viewEventRun(e *state.LogEntry, v *Event) {
	v.Run = &e.Run.RunRef
	it := (*state.StepItem)(nil)
	switch {
	case e.Message != nil:
		it = e.Message.Step
	case e.LogDetail != nil:
		it = e.LogDetail.Step
	}
	if it != nil {
		s := it.View(e.Run.Options.Redact)
		if e.Message != nil {
			s.CreatedAt, s.MessageID = e.Message.CreatedAt, e.Message.ID
		}
		v.Step = &s
	}
	if e.State == string(RunSuccess) {
		v.Result = e.Run.Result
	}
	if e.Message == nil {
		v.Step, v.Waits = nil, v.Step // run-level events never carry stepInfo
	}
}
