package engine

import (
	"cmp"
	"fmt"
	"maps"
	"time"
)

// Restart creates a new run from the configuration and payload of a failed
// one, with over on top, and removes the DLQ entry ("Restart a failed workflow
// run"; decided: open point 15). Earlier step results are discarded.
// over.Workflow.RunID is the id of the new run, "" for a fresh one.
func (a *Account) Restart(dlqID string, over Options) (RunRef, error) {
	a.lock()
	defer a.unlock()
	return a.restart(dlqID, over, false)
}

// Resume does the same, but keeps the finished steps and goes on at the one
// that failed (extension).
func (a *Account) Resume(dlqID string, over Options) (RunRef, error) {
	a.lock()
	defer a.unlock()
	return a.restart(dlqID, over, true)
}

// RestartAll restarts, or resumes, every run that matches: all of them or
// none. A cursor means that more may match.
func (a *Account) RestartAll(f Filter, over Options, resume bool) ([]RunRef, string, error) {
	a.lock()
	defer a.unlock()
	for _, id := range f.DLQIDs {
		if e, err := a.entry(id); err != nil {
			return nil, "", err
		} else if e.run == nil {
			return nil, "", noRun(id)
		}
	}
	f.WorkflowOnly = true
	entries, cursor, err := a.entries(f)
	runs := make([]RunRef, 0, len(entries))
	for _, e := range entries {
		ref, err := a.restart(e.ID, over, resume)
		if err != nil {
			return runs, cursor, err
		}
		runs = append(runs, ref)
	}
	return runs, cursor, err
}

func noRun(id string) error {
	return fmt.Errorf("DLQ entry %q is a failed message, not a workflow run; POST /v2/dlq/retry/%s retries it: %w", id, id, ErrInvalid)
}

func (a *Account) restart(dlqID string, over Options, resume bool) (RunRef, error) {
	e, err := a.entry(dlqID)
	if err != nil {
		return RunRef{}, err
	}
	if e.run == nil {
		return RunRef{}, noRun(dlqID)
	}
	id, header := "", Header(nil)
	if over.Workflow != nil {
		id, header, over.Workflow = over.Workflow.RunID, over.Workflow.Header, nil
	}
	if a.runs[id] != nil {
		return RunRef{}, fmt.Errorf("workflow run id %q exists; accepted is a new one, or none: %w", id, ErrExists)
	}
	opts, err := a.reconfigured(e.run.Options, over)
	if err != nil {
		return RunRef{}, err
	}
	old := e.run
	run := &Run{
		RunRef:   RunRef{ID: cmp.Or(id, a.ids.id("wfr_", a.now)), URL: old.URL, CreatedAt: a.now},
		State:    RunStarted,
		Payload:  old.Payload,
		Header:   mergeHeader(header, old.Header),
		Forward:  old.Forward,
		Options:  opts,
		CallerIP: old.CallerIP,
		bare:     old.bare,
	}
	if resume {
		a.continueAs(run, old, e)
	} else {
		a.begin(run)
	}
	run.Predecessor, old.Successor = &Relation{old.RunRef, resume}, &Relation{run.RunRef, resume}
	a.dropDLQ(e)
	return run.RunRef, nil
}

// reconfigured lays the overrides over the original configuration. Flow control
// is overridden part by part: key, or value. Its delay is long over.
func (a *Account) reconfigured(old *Options, over Options) (*Options, error) {
	flow := over.Flow
	if flow != nil && old.Flow != nil {
		merged := *flow
		pick(&merged.Key, old.Flow.Key)
		if merged.Parallelism == 0 && merged.Rate == 0 {
			merged.Parallelism, merged.Rate, merged.Period = old.Flow.Parallelism, old.Flow.Rate, old.Flow.Period
		}
		flow = &merged
	}
	if flow != nil && (flow.Key == "" || flow.Parallelism == 0 && flow.Rate == 0) {
		return nil, fmt.Errorf("flow control: the run had no flow-control key; accepted are key and value together: %w", ErrInvalid)
	}
	over.Flow = flow
	if over.Delay == 0 && over.NotBefore.IsZero() {
		dropped := *old
		dropped.Delay, dropped.NotBefore = 0, time.Time{}
		old = &dropped
	}
	opts := over.Over(*old)
	if opts.RetryDelay != nil {
		if err := opts.RetryDelay.check(opts.retries()); err != nil {
			return nil, err
		}
	}
	return &opts, nil
}

// continueAs starts run with the finished steps of old: every entry that has
// not led on yet is delivered again.
func (a *Account) continueAs(run, old *Run, e *DLQEntry) {
	a.enlist(run)
	run.calls = maps.Clone(old.calls) // each run has calls of its own
	done := map[int]bool{}
	for _, it := range old.items {
		if it.step.TargetStep == 0 {
			done[it.step.ID] = true
		}
	}
	failed := e.Message.step
	run.Kept = len(old.items)
	a.logRun(run, RunStarted, detail{})
	for i, it := range old.items {
		again := *it
		run.items = append(run.items, &again)
		open := it.step.TargetStep > 0 && !done[it.step.TargetStep]
		if it == failed || open || failed == nil && i == len(old.items)-1 {
			again.errors = nil // they are attempts of the old run
			a.deliverItem(run, &again, run.stepOptions(Options{}))
		}
	}
}

// RepeatCallback sends the failure callback of an entry again, after it failed.
func (a *Account) RepeatCallback(dlqID string) (RunRef, error) {
	a.lock()
	defer a.unlock()
	e, err := a.entry(dlqID)
	if err != nil {
		return RunRef{}, err
	}
	if e.run == nil {
		return RunRef{}, noRun(dlqID)
	}
	if e.Callback == nil || e.Callback.State != CallbackFail && e.Callback.State != CallbackCanceled {
		return RunRef{}, fmt.Errorf("DLQ entry %q has no failed failure callback to repeat: %w", dlqID, ErrInvalid)
	}
	a.reportFailure(e, &e.Message, &e.Last)
	return *e.Run, nil
}

// CancelCallback cancels the failure callback of an entry while it is under way.
func (a *Account) CancelCallback(dlqID string) error {
	a.lock()
	defer a.unlock()
	e, err := a.entry(dlqID)
	if err != nil {
		return err
	}
	if e.Callback == nil || a.messages[e.Callback.MessageID] == nil {
		return fmt.Errorf("DLQ entry %q has no failure callback under way: %w", dlqID, ErrInvalid)
	}
	a.cancel(a.messages[e.Callback.MessageID])
	return nil
}
