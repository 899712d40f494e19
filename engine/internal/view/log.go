package view

import (
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// Asleep reports whether an event begins a sleep of a run.
func (e *Event) Asleep() bool {
	return e.State == string(state.Created) && e.Step != nil && (e.Step.Type == "SleepFor" || e.Step.Type == "SleepUntil") && e.NextAt.After(e.Time)
}

// maxLogPage is the largest and the default page ("Limits", interface document).
const maxLogPage = 1000

// Event is one recorded state of a message or run; it never changes. Attempts that ended
// have Outcome and Error; CREATED and RETRY have NextAt.
type Event struct {
	Seq     uint64
	Time    time.Time
	State   string
	Message *state.Message // in its current state; nil for run-level events
	Outcome *state.Outcome
	Error   string
	Rule    string // that set NextAt
	NextAt  time.Time
	DLQID   string
	Run     *state.RunRef
	Invoker *state.RunRef // RUN_STARTED of an invoked run
	Step    *state.Step   // message-level events of a run
	Waits   *state.Step   // WAITER_ADDED and INVOKED: the step that caused it; not part of the interface
	Tried   string        // ERROR and FAILED: the step that the attempt was for, "" if unknown; not part of the interface
	Result  []byte        // RUN_SUCCESS: the response of the workflow
}

// Events lists log events, newest first.
func (a *Account) Events(f Filter) (Page[Event], error) {
	return List(&a.State.IDs, "log", f, maxLogPage, a.State.Log.Newest, f.event, a.Event)
}

// event matches a log event.
func (f *Filter) event(e *state.LogEntry) bool {
	if f.WorkflowOnly && e.Run == nil || f.MessagesOnly && e.Run != nil || !isWanted(f, f.States, e.State) {
		return false
	}
	at := time.UnixMilli(e.At)
	if e.Run == nil {
		return f.run(nil) && f.MatchesMessage(e.Message, at)
	}
	if e.Message == nil {
		return f.within(at) && len(f.IDs) == 0 && f.trigger(e.Run)
	}
	return f.run(e.Run.Ref()) && f.MatchesMessage(e.Message, at)
}

// Event returns the event as lists show it.
func (a *Account) Event(e *state.LogEntry) Event {
	v := Event{Seq: e.Seq, Time: time.UnixMilli(e.At), State: e.State}
	if e.Next != 0 {
		v.NextAt = time.UnixMilli(e.Next)
	}
	if e.Message != nil {
		m := a.Message(e.Message)
		v.Message = &m
	}
	if d := e.LogDetail; d != nil {
		v.Outcome, v.Error, v.Rule, v.DLQID, v.Invoker = d.Outcome, d.Error, d.Rule, d.DLQID, d.Invoker
		if e.Message != nil && d.Outcome != nil {
			v.Tried = e.Message.AttemptedStep(d.Outcome)
		}
	}
	if e.Run != nil {
		a.viewEventRun(e, &v)
	}
	return v
}
