package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/internal/view"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// trigger starts a run, unless its id is known (wire.md, "Starting a run").
func (a *Account) trigger(c *accepted) Receipt {
	r := &c.PublishRequest
	w := r.Options.Workflow
	if w == nil {
		w = &Workflow{}
		r.Options.Workflow = w
	}
	id := w.RunID
	if id == "" {
		id = a.state.IDs.New("wfr_", a.state.Now)
	}
	if known := a.state.Runs[id]; known != nil {
		if w.TriggerBySDK && a.adoptable(known) {
			return a.adopt(known, r)
		}
		return Receipt{MessageID: known.Items[0].MessageID, URL: r.URL, Deduplicated: true, RunID: id, RunCreatedAt: known.CreatedAt}
	}
	opts := a.state.Options.Share(r.Options)
	run := &Run{
		RunRef:   RunRef{ID: id, URL: cmp.Or(w.URL, r.URL), CreatedAt: a.state.Now},
		State:    RunStarted,
		Payload:  r.Body,
		Header:   r.Header,
		Forward:  r.Forwarded(opts),
		Options:  opts,
		CallerIP: r.CallerIP,
		Bare:     r.Trigger && w.SDKVersion == "",
	}
	if c.invoked != nil {
		a.invokedBy(run, c.invoked)
	}
	return a.begin(run)
}

// keepRuns is how many runs an account remembers; beyond it the oldest that
// have ended go, and with them the knowledge of their ids.
const keepRuns = 100_000

// enlist registers a run.
func (a *Account) enlist(run *Run) {
	if a.state.RunList.Len() >= keepRuns {
		for _, old := range slices.Clone(a.state.RunList.Items) {
			if old != nil && !a.needed(old) && a.state.RunList.Len() > keepRuns*3/4 {
				a.forgetRun(old)
			}
		}
	}
	a.state.Seq++
	run.Seq = a.state.Seq
	a.state.Runs[run.ID] = run
	a.state.RunList.Add(run.ID, run)
	a.reweigh(run)
}

// begin registers a run and calls its endpoint for the first time.
func (a *Account) begin(run *Run) Receipt {
	a.enlist(run)
	first := &state.StepItem{Body: run.Payload, CallType: "step", Step: Step{Name: "init", Type: "Initial", Concurrent: 1, Out: string(run.Payload)}}
	m := a.carry(run, first, run.Options) // the only call that the trigger's delay holds for
	a.logRun(run, RunStarted, state.LogDetail{Invoker: run.Invoker})
	return Receipt{MessageID: m.ID, URL: run.URL, RunID: run.ID, RunCreatedAt: run.CreatedAt}
}

// adoptable reports whether the endpoint was asked to configure and start the
// run, and has not done so yet.
func (a *Account) adoptable(r *Run) bool {
	_, asked := a.cfg.Wire.TakeStart(r.Forward)
	return (r.Bare || asked) && len(r.Items) == 1 && !r.Ended()
}

// adopt lets the trigger of the client library configure and start a run that
// came without one (wire.md, "Triggers without a client").
func (a *Account) adopt(run *Run, r *PublishRequest) Receipt {
	opts := r.Options.Over(*run.Options)
	a.touch(run)
	run.Bare, run.Proven = false, true
	run.Options = &opts
	run.Forward, _ = a.cfg.Wire.TakeStart(state.MergeHeader(r.Forwarded(&opts), run.Forward))
	first := run.Items[0]
	run.Items = nil
	again := *first
	m := a.carry(run, &again, run.StepOptions(Options{}))
	return Receipt{MessageID: m.ID, URL: run.URL, RunID: run.ID, RunCreatedAt: run.CreatedAt}
}

// logRun records a run-level event.
func (a *Account) logRun(run *Run, to RunState, d state.LogDetail) {
	a.append(state.LogEntry{State: string(to), Run: run, LogDetail: &d})
}

// FinishRun ends a run with the response of its workflow. Finishing a run that
// has ended is fine: its endpoint may ask twice.
func (a *Account) FinishRun(id string, result []byte, createdAt time.Time) error {
	return errorOnly(runCommand(a, finishRun{id, result, createdAt}))
}

type finishRun struct {
	ID        string
	Result    []byte
	CreatedAt time.Time
}

// apply ignores a run that has ended or began again under its id (createdAt): the endpoint
// reports each end at least once, and must not see an error for it.
func (c finishRun) apply(a *Account) (nothing, error) {
	run := a.state.Runs[c.ID]
	if run == nil {
		return nothing{}, unknownRun(c.ID)
	}
	if run.Ended() || !c.CreatedAt.IsZero() && !c.CreatedAt.Equal(run.CreatedAt) {
		return nothing{}, nil
	}
	a.touch(run)
	run.Result = c.Result
	a.endRun(run, RunSuccess, state.LogDetail{})
	return nothing{}, nil
}

// unknownRun is one text for all operations on runs.
func unknownRun(id string) error {
	return refusal.Of(ErrNotFound, "workflow run", id, "not found")
}

// CancelRun cancels a run that has not ended (decided: 12).
func (a *Account) CancelRun(id string) error { return errorOnly(runCommand(a, cancelRun{id})) }

type cancelRun struct{ ID string }

// apply takes a run that has ended for one that is not there, as the service does
// (decided: 12).
func (c cancelRun) apply(a *Account) (nothing, error) {
	run := a.state.Runs[c.ID]
	if run == nil {
		return nothing{}, unknownRun(c.ID)
	}
	if run.Ended() {
		return nothing{}, refusal.Of(ErrNotFound, "workflow run", c.ID, "has ended with "+string(run.State))
	}
	a.endRun(run, RunCanceled, state.LogDetail{})
	return nothing{}, nil
}

// maxRunBulk is how many runs one bulk cancel takes.
const maxRunBulk = 100

// CancelRuns cancels what matches and has not ended, and says how many that were.
func (a *Account) CancelRuns(f Filter) (int, error) { return runCommand(a, cancelRuns{f}) }

type cancelRuns struct{ Filter Filter }

// apply takes at least as many runs as were named by id: a list of ids is never cut.
func (c cancelRuns) apply(a *Account) (int, error) {
	p, err := view.List(&a.state.IDs, "run", c.Filter, max(maxRunBulk, len(c.Filter.RunIDs)), a.state.RunList.Newest,
		func(r *Run) bool { return !r.Ended() && c.Filter.MatchesRun(r) }, func(r *Run) *Run { return r })
	for _, run := range p.Items {
		a.endRun(run, RunCanceled, state.LogDetail{})
	}
	return len(p.Items), err
}

// endRun takes a run to its last state: what it still had to do is dropped,
// and whoever invoked it is told.
func (a *Account) endRun(run *Run, last RunState, d state.LogDetail) {
	a.reweigh(run)
	a.touch(run)
	run.State, run.EndedAt = last, a.state.Now
	a.logRun(run, last, d)
	if run.EndSeq = a.state.Log.Issued; !a.needed(run) {
		a.release(run)
	}
	a.dropWaiters(run)
	for _, m := range a.state.RunMessages(run) {
		if m.Cancel == nil && !m.Role.Conduct().ReportsFailed { // what is in flight ends by itself
			if a.state.Asleep(m.Step) {
				a.touch(m)
				m.Step.Settled = state.StepCanceled
			}
			a.cancel(m)
		}
	}
	a.tellInvoker(run)
}

// stepEnded is called when a call to a workflow endpoint has ended: if it
// failed for good, so has the run.
func (a *Account) stepEnded(m *Message) {
	run := a.state.Runs[m.RunID]
	if run == nil || run.Ended() || m.State != Failed {
		return
	}
	a.failRun(run, m, m.Last)
}

// failRun ends a run for which m failed: DLQ, RUN_FAILED, failure callback.
func (a *Account) failRun(run *Run, m *Message, o *Outcome) {
	if call := run.Calls[m.Step.Step.ID]; call != nil && m.BearsAnswer() {
		a.touch(call)
		call.Settled, call.Errors = state.StepFailed, m.Step.Errors
	}
	entry := a.deadLetterRun("", run, m, o)
	failing := *m
	failing.Options = entry.Message.Options
	a.reportFailure(entry, &failing, o)
	a.endRun(run, RunFailed, state.LogDetail{DLQID: entry.ID, Error: state.FailureText(o), Outcome: o})
	a.failed(FailedAttempt{Message: m, Outcome: o, DLQID: entry.ID, Run: run.Ref()})
}

// deadLetterRun puts a run for which m failed into the DLQ; "" asks for a new id.
func (a *Account) deadLetterRun(id string, run *Run, m *Message, o *Outcome) *DLQEntry {
	entry := a.deadLetterAs(id, m, o)
	entry.Run, entry.Payload, entry.FailedRun = run.Ref(), run.Payload, run
	entry.Message.Header, entry.Message.URL, entry.Message.CallerIP = run.Header, run.URL, run.CallerIP
	if m.Options.FailureCallback == nil {
		opts := *m.Options
		opts.FailureCallback = run.Options.FailureCallback
		entry.Message.Options = &opts
	}
	a.touch(run)
	run.DLQID, run.Cause = entry.ID, m.CauseOf(o)
	a.reweighEntry(entry)
	return entry
}

// Run is one run.
func (a *Account) Run(id string) (RunView, error) {
	a.lock()
	defer a.unlock()
	run := a.state.Runs[id]
	if run == nil {
		return RunView{}, unknownRun(id)
	}
	return a.view().Run(run), nil
}

// Steps is the raw step list of a run that has not ended, as its endpoint gets
// it (wire.md, "Steps in a call").
func (a *Account) Steps(id string) ([]StepEntry, error) {
	a.lock()
	defer a.unlock()
	run := a.state.Runs[id]
	if run == nil || run.Ended() {
		return nil, unknownRun(id)
	}
	return stepEntries(run.Items), nil
}
