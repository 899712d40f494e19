package state

import (
	"cmp"
	"slices"
	"time"
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

	Items   []*StepItem         `saved:"apart"` // the step list, in order of submission
	Open    []*StepItem         `saved:"apart"` // waits and invocations that have not come back
	Calls   map[int]*StepItem   `saved:"apart"` // step id -> third-party call of that step
	Early   map[string][][]byte `saved:"apart"` // event id -> notifications that came before their wait
	Invoked *InvokerCall        `saved:"apart"` // whom to tell at the end
	Weight  int64               `saved:"no"`    // bytes, as counted; Size may be ahead of it
	EndSeq  uint64              `saved:"no"`    // of the event that ended it
	Bare    bool                `saved:"apart"` // triggered without a client library; it has not shown itself yet
	Proven  bool                `saved:"apart"` // the endpoint has shown that it speaks the protocol
	Saved   SnapshotMark        `saved:"no"`
}

// Relation is a run that another one restarts or resumes.
type Relation struct {
	RunRef
	Resumed bool // with the steps that had finished
}

// Verb says what was done.
func (r *Relation) Verb() string {
	if r.Resumed {
		return "resumed"
	}
	return "restarted"
}

// Position is its place in the list of runs, which goes by creation.
func (r *Run) Position() Position { return Position{r.CreatedAt.UnixMilli(), r.Seq} }

// Ref names the run without a copy.
func (r *Run) Ref() *RunRef { return &r.RunRef }

// Ended reports whether the run has reached its last state.
func (r *Run) Ended() bool { return r.State != RunStarted }

// StepOptions are those of every later call.
func (r *Run) StepOptions(own Options) *Options {
	opts := own.Following(stepFollower, r.Options)
	return &opts
}

// RemoveOpen takes a wait or an invocation that has come back off the open ones.
func (r *Run) RemoveOpen(it *StepItem) {
	r.Open = slices.DeleteFunc(r.Open, func(o *StepItem) bool { return o == it })
}

// RunMessages are the messages of a run that have not ended, in order.
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
