package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// RunState is a run-level log state (interface document, "States and transitions").
type RunState string

// The run-level states. WaiterAdded and Invoked are only logged: the run stays
// RunStarted (decided: 13).
const (
	RunStarted  RunState = "RUN_STARTED"
	RunSuccess  RunState = "RUN_SUCCESS"
	RunFailed   RunState = "RUN_FAILED"
	RunCanceled RunState = "RUN_CANCELED"
	WaiterAdded RunState = "WAITER_ADDED"
	Invoked     RunState = "INVOKED"
)

// RunRef names a run.
type RunRef struct {
	ID        string
	URL       string
	CreatedAt time.Time
}

// Run is a workflow run: what triggered it, and the steps that its endpoint
// has reported so far.
type Run struct {
	RunRef
	Seq      uint64
	State    RunState
	EndedAt  time.Time
	Payload  []byte
	Header   Header   // of the trigger, configuration included
	Forward  Header   // user headers: on every call to the endpoint
	Options  *Options // of the trigger: they hold for every later message
	CallerIP string
	Result   []byte // what the workflow returned
	DLQID    string
	Invoker  *RunRef // the run that started this one
	Dropped  int     // bytes of what it carried that were dropped to make room, after it had ended
	Cause    string  // why it failed, in words

	Predecessor *Relation // the failed run that this one restarts or resumes
	Successor   *Relation // the run that restarts or resumes this one
	Kept        int       // how many entries of the step list a resumed run has from its predecessor

	items   []*item             // the step list, in order of submission
	open    []*item             // waits and invocations that have not come back
	calls   map[int]*item       // step id -> third-party call of that step
	kept    map[string][][]byte // event id -> notifications that came before their wait
	invoked *invocation         // whom to tell at the end
	weight  int64               // bytes, as counted
	endSeq  uint64              // of the event that ended it
	bare    bool                // triggered without a client library; it has not shown itself yet
	proven  bool                // the endpoint has shown that it speaks the protocol
	saved   savedAt
}

// Relation is a run that another one restarts or resumes.
type Relation struct {
	RunRef
	Resumed bool // with the steps that had finished
}

// verb says what was done.
func (r *Relation) verb() string {
	if r.Resumed {
		return "resumed"
	}
	return "restarted"
}

func (r *Run) position() position { return position{r.CreatedAt.UnixMilli(), r.Seq} }

func (r *Run) ref() *RunRef { return &r.RunRef }

// ended reports whether the run has reached its last state.
func (r *Run) ended() bool { return r.State != RunStarted }

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
		id = a.ids.id("wfr_", a.now)
	}
	if known := a.runs[id]; known != nil {
		if w.TriggerBySDK && a.adoptable(known) {
			return a.adopt(known, r)
		}
		return Receipt{MessageID: known.items[0].messageID, URL: r.URL, Deduplicated: true, RunID: id, RunCreatedAt: known.CreatedAt}
	}
	opts := a.options.share(r.Options)
	run := &Run{
		RunRef:   RunRef{ID: id, URL: cmp.Or(w.URL, r.URL), CreatedAt: a.now},
		State:    RunStarted,
		Payload:  r.Body,
		Header:   r.Header,
		Forward:  r.forward(opts),
		Options:  opts,
		CallerIP: r.CallerIP,
		bare:     r.Trigger && w.SDKVersion == "",
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
	if a.runList.len() >= keepRuns {
		for _, old := range slices.Clone(a.runList.items) {
			if old != nil && !a.needed(old) && a.runList.len() > keepRuns*3/4 {
				a.forgetRun(old)
			}
		}
	}
	a.seq++
	run.Seq = a.seq
	a.runs[run.ID] = run
	a.runList.add(run.ID, run)
	a.reweigh(run)
}

// begin registers a run and calls its endpoint for the first time.
func (a *Account) begin(run *Run) Receipt {
	a.enlist(run)
	first := &item{body: run.Payload, callType: "step", step: Step{Name: "init", Type: "Initial", Concurrent: 1, Out: string(run.Payload)}}
	m := a.carry(run, first, run.Options) // the only call that the trigger's delay holds for
	a.logRun(run, RunStarted, detail{invoker: run.Invoker})
	return Receipt{MessageID: m.ID, URL: run.URL, RunID: run.ID, RunCreatedAt: run.CreatedAt}
}

// stepOptions are those of every later call.
func (r *Run) stepOptions(own Options) *Options {
	opts := own.following(stepFollower, r.Options)
	return &opts
}

// adoptable reports whether the endpoint was asked to configure and start the
// run, and has not done so yet.
func (a *Account) adoptable(r *Run) bool {
	_, asked := a.cfg.Wire.TakeStart(r.Forward)
	return (r.bare || asked) && len(r.items) == 1 && !r.ended()
}

// adopt lets the trigger of the client library configure and start a run that
// came without one (wire.md, "Triggers without a client").
func (a *Account) adopt(run *Run, r *PublishRequest) Receipt {
	opts := r.Options.over(*run.Options)
	a.touch(run)
	run.bare, run.proven = false, true
	run.Options = &opts
	run.Forward, _ = a.cfg.Wire.TakeStart(mergeHeader(r.forward(&opts), run.Forward))
	first := run.items[0]
	run.items = nil
	again := *first
	m := a.carry(run, &again, run.stepOptions(Options{}))
	return Receipt{MessageID: m.ID, URL: run.URL, RunID: run.ID, RunCreatedAt: run.CreatedAt}
}

// logRun records a run-level event.
func (a *Account) logRun(run *Run, state RunState, d detail) {
	a.append(event{state: string(state), run: run, detail: &d})
}

// FinishRun ends a run with the response of its workflow. Finishing a run that
// has ended is fine: its endpoint may ask twice.
func (a *Account) FinishRun(id string, result []byte, createdAt time.Time) error {
	return done(do(a, finishRun{id, result, createdAt}))
}

type finishRun struct {
	ID        string
	Result    []byte
	CreatedAt time.Time
}

func (c finishRun) apply(a *Account) (nothing, error) {
	run := a.runs[c.ID]
	if run == nil {
		return nothing{}, unknownRun(c.ID)
	}
	if run.ended() || !c.CreatedAt.IsZero() && !c.CreatedAt.Equal(run.CreatedAt) {
		return nothing{}, nil
	}
	a.touch(run)
	run.Result = c.Result
	a.endRun(run, RunSuccess, detail{})
	return nothing{}, nil
}

func unknownRun(id string) error {
	return refusal.Of(ErrNotFound, "workflow run", id, "not found")
}

// CancelRun cancels a run that has not ended (decided: 12).
func (a *Account) CancelRun(id string) error { return done(do(a, cancelRun{id})) }

type cancelRun struct{ ID string }

func (c cancelRun) apply(a *Account) (nothing, error) {
	run := a.runs[c.ID]
	if run == nil {
		return nothing{}, unknownRun(c.ID)
	}
	if run.ended() {
		return nothing{}, refusal.Of(ErrNotFound, "workflow run", c.ID, "has ended with "+string(run.State))
	}
	a.endRun(run, RunCanceled, detail{})
	return nothing{}, nil
}

// maxRunBulk is how many runs one bulk cancel takes.
const maxRunBulk = 100

// CancelRuns cancels what matches and has not ended, and says how many that were.
func (a *Account) CancelRuns(f Filter) (int, error) { return do(a, cancelRuns{f}) }

type cancelRuns struct{ Filter Filter }

func (c cancelRuns) apply(a *Account) (int, error) {
	p, err := listPage(a, "run", c.Filter, max(maxRunBulk, len(c.Filter.RunIDs)), a.runList.newest,
		func(r *Run) bool { return !r.ended() && c.Filter.wholeRun(r) }, func(r *Run) *Run { return r })
	for _, run := range p.Items {
		a.endRun(run, RunCanceled, detail{})
	}
	return len(p.Items), err
}

// wholeRun matches a run by what it was triggered with.
func (f *Filter) wholeRun(r *Run) bool {
	key := ""
	if r.Options.Flow != nil {
		key = r.Options.Flow.Key
	}
	return f.run(&r.RunRef) && f.within(r.CreatedAt) && isWanted(f.States, string(r.State)) &&
		isAnyWanted(f.Labels, r.Options.Labels) && isWanted(f.FlowKeys, key) && isWanted(f.CallerIPs, r.CallerIP)
}

// endRun takes a run to its last state: what it still had to do is dropped,
// and whoever invoked it is told.
func (a *Account) endRun(run *Run, state RunState, d detail) {
	a.reweigh(run)
	a.touch(run)
	run.State, run.EndedAt = state, a.now
	a.logRun(run, state, d)
	if run.endSeq = a.log.issued; !a.needed(run) {
		a.release(run)
	}
	a.dropWaiters(run)
	for _, m := range a.runMessages(run) {
		if m.cancel == nil && !m.Role.does().reportsFailed { // what is in flight ends by itself
			if a.asleep(m.step) {
				a.touch(m)
				m.step.settled = StepCanceled
			}
			a.cancel(m)
		}
	}
	a.tellInvoker(run)
}

// close takes a wait or an invocation that has come back off the open ones.
func (r *Run) close(it *item) {
	r.open = slices.DeleteFunc(r.open, func(o *item) bool { return o == it })
}

// runMessages are the messages of a run that have not ended, in order.
func (a *Account) runMessages(run *Run) []*Message {
	var list []*Message
	for _, it := range run.items {
		if m := a.messages[it.messageID]; m != nil {
			list = append(list, m)
		}
	}
	for _, it := range run.calls {
		if m := a.messages[it.messageID]; m != nil {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(x, y *Message) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// stepEnded is called when a call to a workflow endpoint has ended: if it
// failed for good, so has the run.
func (a *Account) stepEnded(m *Message) {
	run := a.runs[m.RunID]
	if run == nil || run.ended() || m.State != Failed {
		return
	}
	a.failRun(run, m, m.last)
}

// failRun ends a run for which m failed: DLQ, RUN_FAILED, failure callback.
func (a *Account) failRun(run *Run, m *Message, o *Outcome) {
	if call := run.calls[m.step.step.ID]; call != nil && m.bearsAnswer() {
		a.touch(call)
		call.settled, call.errors = StepFailed, m.step.errors
	}
	entry := a.deadLetterRun("", run, m, o)
	failing := *m
	failing.Options = entry.Message.Options
	a.reportFailure(entry, &failing, o)
	a.endRun(run, RunFailed, detail{dlqID: entry.ID, err: failureText(o), out: o})
	a.failed(FailedAttempt{Message: m, Outcome: o, DLQID: entry.ID, Run: run.ref()})
}

// deadLetterRun puts a run for which m failed into the DLQ; "" asks for a new id.
func (a *Account) deadLetterRun(id string, run *Run, m *Message, o *Outcome) *DLQEntry {
	entry := a.deadLetterAs(id, m, o)
	entry.Run, entry.Payload, entry.run = run.ref(), run.Payload, run
	entry.Message.Header, entry.Message.URL, entry.Message.CallerIP = run.Header, run.URL, run.CallerIP
	if m.Options.FailureCallback == nil {
		opts := *m.Options
		opts.FailureCallback = run.Options.FailureCallback
		entry.Message.Options = &opts
	}
	a.touch(run)
	run.DLQID, run.Cause = entry.ID, m.cause(o)
	a.reweighEntry(entry)
	return entry
}

// Run is one run.
func (a *Account) Run(id string) (RunView, error) {
	a.lock()
	defer a.unlock()
	run := a.runs[id]
	if run == nil {
		return RunView{}, unknownRun(id)
	}
	return a.viewRun(run), nil
}

// Steps is the raw step list of a run that has not ended, as its endpoint gets
// it (wire.md, "Steps in a call").
func (a *Account) Steps(id string) ([]StepEntry, error) {
	a.lock()
	defer a.unlock()
	run := a.runs[id]
	if run == nil || run.ended() {
		return nil, unknownRun(id)
	}
	return stepEntries(run.items), nil
}
