package state

import (
	"cmp"
	"slices"
	"time"
)

// RunState is a run-level log state (interface document, "States and transitions").
type RunState string

// The run-level states. WaiterAdded and Invoked are only events: the run stays in
// RunStarted (decided: 13).
const (
	RunStarted  RunState = "RUN_STARTED"
	RunSuccess  RunState = "RUN_SUCCESS"
	RunFailed   RunState = "RUN_FAILED"
	RunCanceled RunState = "RUN_CANCELED"
	WaiterAdded RunState = "WAITER_ADDED"
	Invoked     RunState = "INVOKED"
)

// RunRef identifies a run.
type RunRef struct {
	ID        string
	URL       string
	CreatedAt time.Time
}

// Run is a workflow run: its trigger, and the steps that its endpoint has reported so far.
type Run struct {
	RunRef
	Seq      uint64
	State    RunState
	EndedAt  time.Time
	Payload  []byte
	Header   HeaderText // of the trigger, with configuration
	Forward  Header     // headers of the user, sent with every call to the endpoint
	Options  *Options   // of the trigger; they apply to every later message
	CallerIP string
	Result   []byte  // what the workflow returned
	DLQID    string  `saved:"dlqId"`
	Invoker  *RunRef // the run that started this one
	Dropped  int     // bytes that were dropped after its end to free memory
	Cause    string  // why it failed, as text

	Predecessor *Relation // the failed run that this one restarts or resumes
	Successor   *Relation // the run that restarts or resumes this one
	Kept        int       `saved:"keptItems"` // number of entries of the step list that come from the predecessor

	Items   []*StepItem         `saved:"apart"` // the step list, in order of submission
	Open    []*StepItem         `saved:"apart"` // waits and invocations without a result yet
	Calls   map[int]*StepItem   `saved:"apart"` // step id -> third-party call of that step
	Early   map[string][][]byte `saved:"apart"` // event id -> notifications that arrived before the wait
	Invoked *InvokerCall        `saved:"apart"` // the call to answer when the run ends
	Weight  int64               `saved:"no"`    // bytes, as last counted; Size may be larger
	EndSeq  uint64              `saved:"no"`    // of the event that ended it
	Bare    bool                `saved:"apart"` // triggered by a plain request, and no client library has started it
	Proven  bool                `saved:"apart"` // the endpoint has shown that it speaks the protocol
	Saved   SnapshotMark        `saved:"no"`

	// A call to its endpoint, with values that the next one may share: the message, the
	// headers that were only for it, and its headers.
	call    *Message
	extra   Header
	headers HeaderPair

	// The options of a step itself, and what follows from them and those of the run.
	own, from, effective *Options
}

// Forwarded keeps the headers of a call to the endpoint for ForwardAgain.
func (r *Run) Forwarded(extra Header, headers HeaderPair) { r.extra, r.headers = extra, headers }

// ForwardAgain returns the headers of an earlier call to the endpoint, if there was one with
// the same extra headers, otherwise "".
func (r *Run) ForwardAgain(extra Header) HeaderPair {
	if !equalHeaders(r.extra, extra) {
		return ""
	}
	return r.headers
}

// ForgetCall drops what the next call could share: none follows.
func (r *Run) ForgetCall() {
	r.call, r.extra, r.headers, r.own, r.from, r.effective = nil, nil, "", nil, nil, nil
}

// Called keeps a call to the endpoint for SharesCall. The run may be nil. Its headers may
// have been replaced by equal ones of other messages: the next call begins with these.
func (r *Run) Called(m *Message) {
	if r == nil {
		return
	}
	r.call = m
	if r.headers == m.Headers {
		r.headers = m.Headers
	}
}

// SharesCall lets a new call to the endpoint have the values of an earlier one, and reports
// whether all of them are equal. The run may be nil.
func (r *Run) SharesCall(m *Message, of *Origin) bool {
	if r == nil || r.call == nil {
		return false
	}
	c := r.call
	if *c.Origin != *of || c.Headers != m.Headers || !c.Options.equal(m.Options) {
		return false
	}
	m.Origin, m.Headers, m.Options = c.Origin, c.Headers, c.Options
	return true
}

// Relation is the link between a run and the run that restarts or resumes it.
type Relation struct {
	RunRef
	Resumed bool // the new run keeps the finished steps
}

// Position is its place in the list of runs, which is ordered by creation.
func (r *Run) Position() Position { return Position{r.CreatedAt.UnixMilli(), r.Seq} }

// Ref returns the identity of the run without a copy.
func (r *Run) Ref() *RunRef { return &r.RunRef }

// Ended reports whether the run is in a final state.
func (r *Run) Ended() bool { return r.State != RunStarted }

// StepOptions returns the options of a later call of the run: a step may have some itself.
// All steps that have the same share one value.
func (r *Run) StepOptions(own Options) *Options {
	if r.own == nil || r.from != r.Options || !r.own.equal(&own) {
		opts := own.Following(stepFollower, r.Options)
		r.own, r.from, r.effective = &own, r.Options, &opts
	}
	return r.effective
}

// RemoveOpen removes a wait or an invocation that has its result, and repetitions of it.
func (r *Run) RemoveOpen(it *StepItem) {
	r.Open = slices.DeleteFunc(r.Open, func(o *StepItem) bool { return o.Step.ID == it.Step.ID })
}

// RunMessages returns the messages of a run that have not ended, in the order of their ids.
func (s *State) RunMessages(run *Run) []*Message {
	var list []*Message
	for _, it := range run.Items {
		if m := s.Messages[it.MessageID]; m != nil {
			list = append(list, m)
		}
	}
	for _, it := range run.Calls {
		if m := s.Messages[it.MessageID]; m != nil {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(x, y *Message) int { return cmp.Compare(x.ID, y.ID) })
	return list
}
