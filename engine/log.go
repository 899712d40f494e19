package engine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// keepEvents is how many log events an account keeps; the oldest are dropped first.
const keepEvents = 500_000

// move takes a message to its next state and logs it.
func (a *Account) move(m *Message, to MessageState, e state.LogEntry) { a.moveWith(m, to, &e) }

// moveWith is move for an event that the caller has allocated; it does not copy it.
func (a *Account) moveWith(m *Message, to MessageState, e *state.LogEntry) {
	if !state.MayFollow(m.State, to) {
		a.broken("illegal transition", "message", m.ID, "from", m.State, "to", to)
	}
	a.touch(m)
	a.state.Tally.Message(m.State, to)
	m.State = to
	e.State, e.Message = string(to), m
	if !m.Role.Conduct().ReportsFailed {
		e.Run = a.state.Runs[m.RunID]
	}
	a.append(e)
}

// broken reports an internal error of the engine: it logs, or panics with Config.Strict.
func (a *Account) broken(what string, attrs ...any) {
	if a.cfg.Strict {
		panic(fmt.Sprint("engine: ", what, " ", attrs))
	}
	a.note(slog.LevelError, what, attrs...)
}

// append adds an event to the log and wakes the followers. The caller must not
// change the event afterwards.
func (a *Account) append(e *state.LogEntry) {
	l := &a.state.Log
	l.Issued++
	e.Seq, e.At = l.Issued, a.state.Now.UnixMilli()
	l.Events = append(l.Events, e)
	if l.EventsByTime != nil {
		l.EventsByTime = append(l.EventsByTime, e)
	}
	a.addObserved(e.Size())
	if e.Ends() {
		a.addObserved(state.MessageCost + int64(e.Message.Weight))
	}
	switch {
	case e.Message == nil:
		a.state.Tally.Run(RunState(e.State))
	case e.State == string(Created):
		l.Created = append(l.Created, e)
		if l.CreatedByTime != nil {
			l.CreatedByTime = append(l.CreatedByTime, e)
		}
	}
	a.countUsage(e)
	if len(l.Events) > keepEvents {
		a.forget(keepEvents / 4)
	}
	a.changed()
}

// Logged is the number of the last event.
func (a *Account) Logged() uint64 {
	a.lock()
	defer a.unlock()
	return a.state.Log.Issued
}

// Follow returns the events after a sequence number, at most most of them (0:
// all), and a channel that is closed when there are more. A number beyond the
// last event, as after a Reset, means all events.
func (a *Account) Follow(after uint64, most int) ([]Event, <-chan struct{}) {
	a.lock()
	defer a.unlock()
	if after > a.state.Log.Issued {
		after = 0
	}
	tail, more := a.state.Log.Events[a.state.Log.Index(after+1):], a.changes()
	if most > 0 && len(tail) > most {
		tail, more = tail[:most], atOnce
	}
	events := make([]Event, len(tail))
	for i, e := range tail {
		events[i] = a.showEvent(e)
	}
	return events, more
}

// atOnce is a closed channel, for a follower that has not received all existing events.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

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

	Trace       TraceRoot // of the message, or of the run
	Predecessor *Relation // RUN_STARTED of a run that restarts or resumes another one
}

// Events lists log events, newest first.
func (a *Account) Events(f Filter) (Page[Event], error) {
	a.lock()
	defer a.unlock()
	return listPage(&a.state.IDs, "log", f, maxLogPage, a.state.Log.Newest, f.event, a.showEvent)
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

// showEvent returns the event as lists show it.
func (a *Account) showEvent(e *state.LogEntry) Event {
	v := Event{Seq: e.Seq, Time: time.UnixMilli(e.At), State: e.State}
	if e.Next != 0 {
		v.NextAt = time.UnixMilli(e.Next)
	}
	if e.Message != nil {
		m := a.showMessage(e.Message)
		v.Message, v.Trace = &m, m.TraceRoot()
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
