package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
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
	if c.invoked != nil {
		if first := a.repeated(c.invoked.Run, c.invoked.Item); first != nil && first.Step.Invoked != nil {
			id = first.Step.Invoked.ID
		}
	}
	if id == "" {
		id = a.state.IDs.New("wfr_", a.state.Now)
	}
	if known := a.state.Runs[id]; known != nil {
		if w.TriggerBySDK && a.adoptable(known) {
			return a.adopt(known, r)
		}
		return Receipt{MessageID: known.Items[0].MessageID, URL: r.URL, Deduplicated: true, RunID: id, RunCreatedAt: known.CreatedAt}
	}
	opts := a.state.Options.Intern(&r.Options)
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

// keepRuns is how many runs an account keeps. Beyond it the oldest ended runs
// are dropped, and their ids are free again.
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
	a.touch(run)
	run.Seq = a.state.Seq
	a.state.Runs[run.ID] = run
	a.state.RunList.Add(run.ID, run)
	a.reweigh(run)
}

// begin registers a run and calls its endpoint for the first time.
func (a *Account) begin(run *Run) Receipt {
	a.enlist(run)
	first := &state.StepItem{Body: run.Payload, CallType: "step", Step: Step{Name: "init", Type: "Initial", Concurrent: 1, Out: string(run.Payload)}}
	id, _ := a.carry(run, first, run.Options, nil) // the only call that the delay of the trigger applies to
	a.logRun(run, RunStarted, state.LogDetail{Invoker: run.Invoker})
	return Receipt{MessageID: id, URL: run.URL, RunID: run.ID, RunCreatedAt: run.CreatedAt}
}

// adoptable reports whether the run still waits for its endpoint to configure and start it.
func (a *Account) adoptable(r *Run) bool {
	_, asked := a.cfg.Wire.TakeStart(r.Forward)
	return asked && len(r.Items) == 1 && !r.Ended()
}

// adopt lets the trigger of the client library configure and start a run whose
// trigger asked for it (wire.md, "Triggers without a client").
func (a *Account) adopt(run *Run, r *PublishRequest) Receipt {
	opts := r.Options.Over(*run.Options)
	a.touch(run)
	run.Bare, run.Proven = false, true
	run.Options = &opts
	run.Forward, _ = a.cfg.Wire.TakeStart(state.MergeHeader(r.Forwarded(&opts), run.Forward))
	first := run.Items[0]
	run.Items = nil
	again := *first
	run.Forwarded(nil, "") // the earlier call was for other options
	id, _ := a.carry(run, &again, run.StepOptions(Options{}), nil)
	a.reweigh(run)
	return Receipt{MessageID: id, URL: run.URL, RunID: run.ID, RunCreatedAt: run.CreatedAt}
}

// logRun records a run-level event.
func (a *Account) logRun(run *Run, to RunState, d state.LogDetail) {
	a.append(&state.LogEntry{State: string(to), Run: run, LogDetail: &d})
}

// FinishRun ends a run with the response of its workflow. Finishing a run that
// has ended succeeds, because its endpoint may report the end twice.
func (a *Account) FinishRun(id string, result []byte, createdAt time.Time) error {
	return do(a, finishRun{id, result, createdAt})
}

type finishRun struct {
	ID        string
	Result    []byte
	CreatedAt time.Time
}

// apply ignores a run that has ended, or whose id belongs to a newer run (createdAt): the
// endpoint reports each end at least once, and must not receive an error for a repetition.
func (c finishRun) apply(a *Account) error {
	run := a.state.Runs[c.ID]
	if run == nil {
		return unknownRun(c.ID)
	}
	if run.Ended() || !c.CreatedAt.IsZero() && !c.CreatedAt.Equal(run.CreatedAt) {
		return nil
	}
	a.touch(run)
	run.Result = c.Result
	a.endRun(run, RunSuccess, state.LogDetail{})
	return nil
}

// unknownRun is the refusal of an unknown run, the same for all operations.
func unknownRun(id string) error {
	return refusal.Of(ErrNotFound, "workflow run", id, "not found")
}

// CancelRun cancels a run that has not ended (decided: 12).
func (a *Account) CancelRun(id string) error { return do(a, cancelRun{id}) }

type cancelRun struct{ ID string }

// apply treats a run that has ended as not found, as the service does (decided: 12).
func (c cancelRun) apply(a *Account) error {
	run := a.state.Runs[c.ID]
	if run == nil {
		return unknownRun(c.ID)
	}
	if run.Ended() {
		return refusal.Of(ErrNotFound, "workflow run", c.ID, "has ended with "+string(run.State))
	}
	a.endRun(run, RunCanceled, state.LogDetail{})
	return nil
}

// maxRunBulk is the largest number of runs that one bulk cancel cancels.
const maxRunBulk = 100

// CancelRuns cancels the runs that match and have not ended, and returns their number.
func (a *Account) CancelRuns(f Filter) (int, error) { return runCommand(a, cancelRuns{f}) }

type cancelRuns struct{ Filter Filter }

// apply raises the limit to the number of ids in the filter: a list of ids is never truncated.
func (c cancelRuns) apply(a *Account) (int, error) {
	p, err := listPage(&a.state.IDs, "run", c.Filter, max(maxRunBulk, len(c.Filter.RunIDs)), a.state.RunList.Newest,
		func(r *Run) bool { return !r.Ended() && c.Filter.MatchesRun(r) }, func(r *Run) *Run { return r })
	for _, run := range p.Items {
		a.endRun(run, RunCanceled, state.LogDetail{})
	}
	return len(p.Items), err
}

// endRun takes a run to a final state: its pending messages and waits are
// dropped, and the run that invoked it is notified.
func (a *Account) endRun(run *Run, last RunState, d state.LogDetail) {
	a.reweigh(run)
	a.touch(run)
	run.State, run.EndedAt = last, a.state.Now
	run.ForgetCall()
	a.logRun(run, last, d)
	if run.EndSeq = a.state.Log.Issued; !a.needed(run) {
		a.release(run)
	}
	a.dropWaiters(run)
	for _, m := range a.state.RunMessages(run) {
		if !m.InFlight && !m.Role.Conduct().ReportsFailed { // attempts in flight end by themselves
			if a.state.Asleep(m.Step) {
				a.touch(m)
				m.Step.Settled = state.StepCanceled
			}
			a.cancel(m)
		}
	}
	a.tellInvoker(run)
}

// stepEnded is called when a call to a workflow endpoint has ended. If its last
// attempt failed, the run fails.
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
	a.failed(FailedAttempt{Message: m, Outcome: o, DLQID: entry.ID})
}

// deadLetterRun puts a run for which m failed into the DLQ; id "" draws a new one.
func (a *Account) deadLetterRun(id string, run *Run, m *Message, o *Outcome) *DLQEntry {
	entry := a.deadLetterAs(id, m, o)
	a.touch(entry)
	entry.Run, entry.Payload, entry.FailedRun = run.Ref(), run.Payload, run
	entry.Message.Headers, entry.Message.URL = state.PairOf(run.Header, m.Headers.Forward()), run.URL
	of := *m.Origin
	of.CallerIP = run.CallerIP
	entry.Message.Origin = a.state.Origins.Intern(of)
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

// Run returns one run, or ErrNotFound.
func (a *Account) Run(id string) (RunView, error) {
	a.lock()
	defer a.unlock()
	run := a.state.Runs[id]
	if run == nil {
		return RunView{}, unknownRun(id)
	}
	return a.viewRun(run), nil
}

// Steps is the raw step list of a run that has not ended, as its endpoint
// receives it (wire.md, "Steps in a call").
func (a *Account) Steps(id string) ([]StepEntry, error) {
	a.lock()
	defer a.unlock()
	run := a.state.Runs[id]
	if run == nil || run.Ended() {
		return nil, unknownRun(id)
	}
	return stepEntries(run.Items), nil
}
