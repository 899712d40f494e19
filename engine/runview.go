package engine

import (
	"maps"
	"slices"
	"time"
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
	return listPage(a, "run", f, maxRunViews, a.runList.newest, f.wholeRun, a.viewRun)
}

// maxRunViews is the largest and the default page of the run view.
const maxRunViews = 10

func (a *Account) viewRun(run *Run) RunView {
	v := RunView{Run: *run}
	if e := a.dlq.get(run.DLQID); e != nil && e.Callback != nil {
		failure := *e
		v.Failure = &failure
	}
	g := grouping{account: a, run: run, header: mergeHeader(a.runHeader(run), run.Forward), slots: map[int]*StepView{}, done: map[int]bool{}}
	var before *item
	for i, it := range run.items {
		g.add(it, before, i == len(run.items)-1)
		before = it
	}
	for _, it := range run.open {
		g.pending(it)
	}
	for _, id := range slices.Sorted(maps.Keys(run.calls)) { // the same view every time
		if !g.done[id] {
			g.pending(run.calls[id])
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
func (g *grouping) add(it, before *item, last bool) {
	s := it.step
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
		case it.settled != "":
			v.State = it.settled
		case g.account.asleep(it):
			v.State = StepProgress
		}
		v.Errors = nil
		if before != nil && before.step.TargetStep == 0 {
			v.Errors = before.errors
		}
		g.groups = append(g.groups, StepGroup{Type: "sequential", Steps: []StepView{v}})
	}
	if last {
		g.next(it)
	}
}

// plan gives each step of a parallel branch its place.
func (g *grouping) plan(it *item) {
	s := it.step
	n := len(g.groups)
	if n == 0 || g.groups[n-1].Type != "parallel" || len(g.groups[n-1].Steps) == cap(g.groups[n-1].Steps) {
		g.groups = append(g.groups, StepGroup{Type: "parallel", Steps: make([]StepView, 0, min(max(1, s.Concurrent), len(g.run.items)))})
		n++
	}
	group := &g.groups[n-1]
	v := g.view(it, g.progress(it))
	v.ID, v.TargetStep = s.TargetStep, 0
	group.Steps = append(group.Steps, v) // never beyond its capacity: slots stay where they are
	g.slots[s.TargetStep] = &group.Steps[len(group.Steps)-1]
}

// pending shows a wait, a call or an invocation that has not come back.
func (g *grouping) pending(it *item) {
	state := StepProgress
	m := g.account.messages[it.messageID]
	switch {
	case it.settled != "":
		state = it.settled
	case m != nil && m.Retried > 0:
		state = StepRetry
	case g.run.ended() && it.step.Type != "Invoke": // what was invoked continues
		state = StepCanceled
	}
	if slot := g.slots[it.step.ID]; slot != nil {
		*slot = g.view(it, state)
		return
	}
	if n := len(g.groups); n > 0 && g.groups[n-1].Type == "next" {
		g.groups = g.groups[:n-1]
	}
	g.groups = append(g.groups, StepGroup{Type: "sequential", Steps: []StepView{g.view(it, state)}})
}

// next shows the call that follows the last entry, unless it has led on.
func (g *grouping) next(it *item) {
	state := g.progress(it)
	if state == StepSuccess || it.settled != "" || g.account.asleep(it) {
		return
	}
	v := g.view(it, state)
	v.Step = Step{MessageID: it.messageID, CreatedAt: v.CreatedAt}
	if n := len(it.errors); n > 0 {
		last := &it.errors[n-1]
		v.Name = g.account.cfg.Wire.ReadAnswer(&Outcome{Status: last.Status, Header: last.Header}).Step
	}
	g.groups = append(g.groups, StepGroup{Type: "next", Steps: []StepView{v}})
}

// progress is the state of the call that carries an entry.
func (g *grouping) progress(it *item) string {
	switch it.ended {
	case Delivered:
		switch {
		case it.step.TargetStep > 0 && g.run.ended():
			return StepCanceled // its result was refused, or will be
		case it.step.TargetStep > 0:
			return StepProgress // the endpoint has not reported the result yet
		}
		return StepSuccess
	case Failed:
		return StepFailed
	case Canceled:
		return StepCanceled
	}
	if m := g.account.messages[it.messageID]; m != nil && m.Retried > 0 {
		return StepRetry
	}
	return StepProgress
}

func (g *grouping) view(it *item, state string) StepView {
	v := StepView{Step: it.view(g.run.Options.Redact), State: state, Header: g.header, Retries: g.run.Options.retries(), Errors: it.errors}
	if it.callType == "toCallback" {
		v.Header = it.step.CallHeader
	}
	if g.run.Options.RetryDelay != nil {
		v.RetryDelay = g.run.Options.RetryDelay.String()
	} else if v.Retries > 0 {
		v.RetryDelay = "min(86400, exp(2.5 * (retried + 1))) * 1000"
	}
	if m := g.account.messages[it.messageID]; m != nil {
		v.NextAt = m.NextAt
	}
	if v.CreatedAt.IsZero() { // an entry of a snapshot from before it was kept
		v.CreatedAt = g.run.CreatedAt
	}
	return v
}

// asleep reports whether the entry is a sleep that is not over.
func (a *Account) asleep(it *item) bool {
	m := a.messages[it.messageID]
	return m != nil && m.State == Created && m.NextAt.After(a.now) && (it.step.Type == "SleepFor" || it.step.Type == "SleepUntil")
}

// view is the step as logs show it.
func (it *item) view(r *Redaction) Step {
	s := it.step
	s.MessageID, s.CallType = it.messageID, it.callType
	if r != nil && r.Body && s.Out != "" {
		s.Out = string(redactedValue([]byte(s.Out)))
	}
	return s
}

// viewEventRun fills in what an event says of its run.
func viewEventRun(e *event, v *Event) {
	v.Run = &e.run.RunRef
	it := (*item)(nil)
	switch {
	case e.msg != nil:
		it = e.msg.step
	case e.detail != nil:
		it = e.detail.step
	}
	if it != nil {
		s := it.view(e.run.Options.Redact)
		if e.msg != nil {
			s.CreatedAt, s.MessageID = e.msg.CreatedAt, e.msg.ID
		}
		v.Step = &s
	}
	if e.state == string(RunSuccess) {
		v.Result = e.run.Result
	}
	if e.msg == nil {
		v.Step, v.Waits = nil, v.Step // run-level events never carry stepInfo
	}
}
