package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// RunView is a run as the run view shows it (extension).
type RunView struct {
	state.Run
	Groups  []StepGroup
	Failure *state.DLQEntry // DLQ entry with a failure callback; nil for none
}

// StepGroup is one step, the steps of a parallel branch, or the next call.
type StepGroup struct {
	Type  string // sequential, parallel, next
	Steps []StepView
}

// StepView is a step with its progress.
type StepView struct {
	state.Step
	State      string
	Header     state.Header
	Retries    int // largest number of retries
	RetryDelay string
	NextAt     time.Time
	Errors     []state.StepError
}

// RunViews lists runs, newest first.
func (a *Account) RunViews(f Filter) (Page[RunView], error) {
	a.lock()
	defer a.unlock()
	return listPage(&a.state.IDs, "run", f, maxRunViews, a.state.RunList.Newest, f.MatchesRun, a.viewRun)
}

// maxRunViews is the largest and the default page of the run view.
const maxRunViews = 10

// viewRun returns a run with its steps.
func (a *Account) viewRun(run *state.Run) RunView {
	v := RunView{Run: a.showRun(run)}
	if e := a.state.DLQ.Get(run.DLQID); e != nil && e.Callback != nil {
		failure := a.showEntry(e)
		v.Failure = &failure
	}
	g := grouping{account: a, run: run, header: state.MergeHeader(a.cfg.Wire.RunHeader(run), v.Forward), slots: map[int]*StepView{}, done: map[int]bool{}}
	var before *state.StepItem
	for i, it := range run.Items {
		g.add(it, before, i == len(run.Items)-1)
		before = it
	}
	for _, it := range run.Open {
		g.pending(it)
	}
	for _, id := range slices.Sorted(maps.Keys(run.Calls)) { // sorted, so that the view is deterministic
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
	run     *state.Run
	header  state.Header // of every call to the endpoint
	groups  []StepGroup
	slots   map[int]*StepView // step id -> its view in a parallel group
	done    map[int]bool      // ids of steps with a result
}

// add adds an entry of the step list. Its step ran in the call that carried the entry
// before it, so the failed attempts of that call belong to the step.
func (g *grouping) add(it, before *state.StepItem, last bool) {
	s := it.Step
	switch {
	case s.TargetStep > 0:
		g.plan(it)
		return
	case s.Concurrent > 1:
		g.done[s.ID] = true
		if slot := g.slots[s.ID]; slot != nil {
			attempts := slot.Errors // failed attempts of the call of its plan
			*slot = g.view(it, state.StepSuccess)
			slot.Errors = attempts
		}
	default:
		g.done[s.ID] = true
		v := g.view(it, state.StepSuccess)
		switch {
		case it.Settled != "":
			v.State = it.Settled
		case g.account.state.Asleep(it):
			v.State = state.StepProgress
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

// plan adds a step of a parallel branch that has no result yet.
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
	group.Steps = append(group.Steps, v) // never reallocates, because g.slots has pointers to the elements
	g.slots[s.TargetStep] = &group.Steps[len(group.Steps)-1]
}

// pending adds a wait, call or invocation without a result.
func (g *grouping) pending(it *state.StepItem) {
	now := state.StepProgress
	m := g.account.state.Messages[it.MessageID]
	switch {
	case it.Settled != "":
		now = it.Settled
	case g.run.State == state.RunSuccess, g.run.Ended() && it.Step.Type != "Invoke": // an invoked run outlives the failure
		now = state.StepCanceled
	case m != nil && m.Retried > 0:
		now = state.StepRetry
	}
	if slot := g.slots[it.Step.ID]; slot != nil {
		*slot = g.view(it, now)
		return
	}
	if n := len(g.groups); n > 0 && g.groups[n-1].Type == "next" {
		g.groups = g.groups[:n-1]
	}
	g.groups = append(g.groups, StepGroup{Type: "sequential", Steps: []StepView{g.view(it, now)}})
}

// next adds the call that carries the last entry, unless a step followed from it.
func (g *grouping) next(it *state.StepItem) {
	now := g.progress(it)
	if now == state.StepSuccess || it.Settled != "" || g.account.state.Asleep(it) {
		return
	}
	v := g.view(it, now)
	v.Step = state.Step{MessageID: it.MessageID, CreatedAt: v.CreatedAt}
	if n := len(it.Errors); n > 0 {
		last := &it.Errors[n-1]
		v.Name = g.account.cfg.Wire.ReadAnswer(&state.Outcome{Status: last.Status, Header: last.Header}).Step
	}
	g.groups = append(g.groups, StepGroup{Type: "next", Steps: []StepView{v}})
}

// progress returns the state of the call that carries an entry. The call may still be in
// flight after the end of the run, and a plan has no result yet when it was delivered.
func (g *grouping) progress(it *state.StepItem) string {
	plan := it.Step.TargetStep > 0
	m := g.account.state.Messages[it.MessageID]
	switch {
	case it.Ended == state.Failed:
		return state.StepFailed
	case it.Ended == state.Canceled:
		return state.StepCanceled
	case !plan && (it.Ended == state.Delivered || g.run.State == state.RunSuccess):
		return state.StepSuccess
	case g.run.Ended():
		return state.StepCanceled // its result was refused or will be
	case it.Ended == "" && m != nil && m.Retried > 0:
		return state.StepRetry
	}
	return state.StepProgress
}

// view returns the view of an entry. Its retry limits are those of the run, because the
// message may already be removed.
func (g *grouping) view(it *state.StepItem, now string) StepView {
	v := StepView{Step: g.account.showItem(g.run, it), State: now, Header: g.header, Retries: g.run.Options.EffectiveRetries(), Errors: it.Errors}
	if it.CallType == "toCallback" {
		v.Header = v.Step.CallHeader
	}
	if g.run.Options.RetryDelay != nil {
		v.RetryDelay = g.run.Options.RetryDelay.String()
	} else if v.Retries > 0 {
		v.RetryDelay = state.DefaultRetryDelay
	}
	if m := g.account.state.Messages[it.MessageID]; m != nil {
		v.NextAt = m.NextAt.Time()
	}
	if v.CreatedAt.IsZero() { // old snapshots do not have it
		v.CreatedAt = g.run.CreatedAt
	}
	return v
}

// viewEventRun sets the fields of an event that concern its run.
func (a *Account) viewEventRun(e *state.LogEntry, v *Event) {
	v.Run = &e.Run.RunRef
	it := (*state.StepItem)(nil)
	switch {
	case e.Message != nil:
		it = e.Message.Step
	case e.LogDetail != nil:
		it = e.LogDetail.Step
	}
	if it != nil {
		s := a.showItem(e.Run, it)
		if e.Message != nil {
			s.CreatedAt, s.MessageID = e.Message.CreatedAt.Time(), e.Message.ID
		}
		v.Step = &s
	}
	if e.State == string(state.RunSuccess) {
		v.Result = a.showRun(e.Run).Result
	}
	if e.Message == nil {
		v.Step, v.Waits = nil, v.Step // run-level events never carry stepInfo
		v.Trace, v.Predecessor = TraceRoot{ID: e.Run.ID, Context: e.Run.Options.TraceContext}, e.Run.Predecessor
	}
}
