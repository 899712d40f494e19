package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Restart creates a new run from the configuration and payload of a failed one,
// with the set fields of over replacing its options, and removes the DLQ entry
// ("Restart a failed workflow run"; decided: 15). Earlier step results are
// discarded. over.Workflow.RunID is the id of the new run; "" draws one.
//
// With resume set, the new run keeps the finished steps and continues at the one
// that failed (extension).
func (a *Account) Restart(dlqID string, over Options, resume bool) (RunRef, error) {
	return runCommand(a, restartRun{ID: dlqID, Over: over, Resume: resume})
}

type restartRun struct {
	ID     string // of the DLQ entry
	Over   Options
	Resume bool
	Latest bool // in some records of rules 2; without effect
}

// apply checks the overrides before it removes the entry, so that a refused
// restart can be repeated.
func (c restartRun) apply(a *Account) (RunRef, error) {
	e, err := a.entry(c.ID)
	if err != nil {
		return RunRef{}, err
	}
	r, err := a.restartable(e, c.Over)
	if err != nil {
		return RunRef{}, err
	}
	return a.restart(&r, c.Resume), nil
}

// RestartAll restarts, or resumes, every run that matches: all of them or
// none. A cursor means that more may match.
func (a *Account) RestartAll(f Filter, over Options, resume bool) ([]RunRef, string, error) {
	return splitPair(runCommand(a, restartAll{Filter: f, Over: over, Resume: resume}))
}

type restartAll struct {
	Filter Filter
	Over   Options
	Resume bool
	Latest bool // as in restartRun
}

// apply refuses entries of plain messages that the request names by id, and skips those
// that the filter matches. It skips unknown ids, as the other bulk operations do.
func (c restartAll) apply(a *Account) (p pair[[]RunRef, string], err error) {
	for _, id := range c.Filter.DLQIDs {
		if e := a.state.DLQ.Get(id); e != nil && e.FailedRun == nil {
			return p, noRun(id)
		}
	}
	c.Filter.WorkflowOnly = true
	var entries []*DLQEntry
	entries, p.second, err = a.entries(c.Filter)
	if err != nil {
		return p, err
	}
	again := make([]restart, len(entries))
	for i, e := range entries {
		if again[i], err = a.restartable(e, c.Over); err != nil {
			return p, err
		}
		if i > 0 && again[i].id != "" {
			return p, refusal.Of(ErrInvalid, "workflow run id", again[i].id, fmt.Sprintf("names one run, and %d entries match", len(entries)))
		}
	}
	p.first = make([]RunRef, len(entries))
	for i := range again {
		p.first[i] = a.restart(&again[i], c.Resume)
	}
	return p, nil
}

// noRun is the refusal of a run operation on a plain message; its text names
// the operation for messages.
func noRun(id string) error {
	return refusal.Of(ErrInvalid, "DLQ entry", id, "is a failed message, not a workflow run; retry it instead")
}

// restart is an entry whose run will start again, with the parts in which the
// new run differs. It is valid only within the command that has checked it.
type restart struct {
	entry  *DLQEntry
	id     string // of the new run; "" draws one
	header Header // replaces those of the failed run
	opts   *Options
}

// restartable checks that a run may start again.
func (a *Account) restartable(e *DLQEntry, over Options) (restart, error) {
	r := restart{entry: e}
	if e.FailedRun == nil {
		return r, noRun(e.ID)
	}
	if over.Workflow != nil {
		r.id, r.header, over.Workflow = over.Workflow.RunID, over.Workflow.Header, nil
	}
	if a.state.Runs[r.id] != nil {
		return r, refusal.Of(ErrExists, "workflow run id", r.id, "exists already: must be a new one, or none")
	}
	var err error
	r.opts, err = over.Overriding(state.RestartFollower, e.FailedRun.Options)
	return r, err
}

// restart removes the entry last: until then the old run counts as needed, and
// keeps the data that the new run takes over.
func (a *Account) restart(r *restart, resume bool) RunRef {
	old := r.entry.FailedRun
	run := &Run{
		RunRef:   RunRef{ID: cmp.Or(r.id, a.state.IDs.New("wfr_", a.state.Now)), URL: old.URL, CreatedAt: a.state.Now},
		State:    RunStarted,
		Payload:  old.Payload,
		Header:   state.TextOf(state.MergeHeader(r.header, old.Header.Header())),
		Forward:  old.Forward,
		Options:  r.opts,
		CallerIP: old.CallerIP,
		Bare:     old.Bare,
	}
	if resume {
		a.continueAs(run, old, r.entry)
	} else {
		a.begin(run)
	}
	a.touch(old)
	run.Predecessor, old.Successor = &Relation{RunRef: old.RunRef, Resumed: resume}, &Relation{RunRef: run.RunRef, Resumed: resume}
	a.dropDLQ(r.entry)
	return run.RunRef
}

// continueAs starts run with the finished steps of old. Each parallel step that has no result is
// planned again. If there is none, the endpoint receives the entry that arrived last: whatever call
// failed, the run has come so far. Up to rules 2, the failed call was delivered again as well.
func (a *Account) continueAs(run, old *Run, e *DLQEntry) {
	a.enlist(run)
	a.touch(run)
	run.Calls = maps.Clone(old.Calls) // a copy: each run has its own calls
	items := old.Items
	if a.settings.Rules > 2 {
		items = state.FirstOfEach(items)
	}
	done := map[int]bool{}
	for _, it := range items {
		if it.Step.TargetStep == 0 {
			done[it.Step.ID] = true
		}
	}
	open := func(it *state.StepItem) bool { return it.Step.TargetStep > 0 && !done[it.Step.TargetStep] }
	if a.settings.Rules > 2 {
		maps.DeleteFunc(run.Calls, func(id int, _ *state.StepItem) bool { return !done[id] })
	}
	failed := e.Message.Step
	switch {
	case a.settings.Rules > 2 && slices.ContainsFunc(items, open):
		failed = nil
	case a.settings.Rules > 2 || !slices.Contains(items, failed):
		failed = items[len(items)-1]
	}
	run.Kept = len(items)
	a.logRun(run, RunStarted, state.LogDetail{})
	for _, it := range items {
		again := *it
		run.Items = append(run.Items, &again)
		if it == failed || open(it) {
			again.Errors = nil // these errors belong to the old run
			a.deliverItem(run, &again, run.StepOptions(Options{}), nil)
		}
	}
	a.reweigh(run)
}

// RepeatCallback sends the failure callback of an entry again, if it has failed.
func (a *Account) RepeatCallback(dlqID string) (RunRef, error) {
	return runCommand(a, repeatCallback{dlqID})
}

type repeatCallback struct{ ID string }

// apply refuses a callback that has not ended: its endpoint would receive it twice.
func (c repeatCallback) apply(a *Account) (RunRef, error) {
	e, err := a.entry(c.ID)
	if err != nil {
		return RunRef{}, err
	}
	if e.FailedRun == nil {
		return RunRef{}, noRun(c.ID)
	}
	if e.Callback == nil || e.Callback.State != CallbackFail && e.Callback.State != CallbackCanceled {
		return RunRef{}, refusal.Of(ErrInvalid, "DLQ entry", c.ID, "has no failed failure callback to repeat")
	}
	a.reportFailure(e, &e.Message, &e.Last)
	return *e.Run, nil
}

// CancelCallback cancels the failure callback of an entry that has not ended.
func (a *Account) CancelCallback(dlqID string) error {
	return do(a, cancelCallback{dlqID})
}

type cancelCallback struct{ ID string }

// apply refuses a callback that has ended.
func (c cancelCallback) apply(a *Account) error {
	e, err := a.entry(c.ID)
	if err != nil {
		return err
	}
	if e.Callback == nil || a.state.Messages[e.Callback.MessageID] == nil {
		return refusal.Of(ErrInvalid, "DLQ entry", c.ID, "has no failure callback in progress")
	}
	a.cancel(a.state.Messages[e.Callback.MessageID])
	return nil
}
