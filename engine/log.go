package engine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// maxLogPage is the largest and the default page ("Limits", interface document).
const maxLogPage = 1000

// keepEvents is how many log events an account keeps; the oldest go first.
const keepEvents = 500_000

// Event is one recorded state of a message or run, immutable. Outcome and
// Error belong to attempts that ended, NextAt to CREATED and RETRY.
type Event struct {
	Seq     uint64
	Time    time.Time
	State   string
	Message *Message // as it stands now; nil on run-level events
	Outcome *Outcome
	Error   string
	Rule    string // by which NextAt was chosen
	NextAt  time.Time
	DLQID   string
	Run     *RunRef
	Invoker *RunRef // RUN_STARTED of an invoked run
	Step    *Step   // message-level events of a run
	Waits   *Step   // WAITER_ADDED and INVOKED: the step that caused them; not on the wire
	Tried   string  // ERROR and FAILED: the step that the attempt was for, "" where nothing tells it; not on the wire
	Result  []byte  // RUN_SUCCESS: the response of the workflow
}

// move takes a message to its next state and logs it.
func (a *Account) move(m *Message, to MessageState, e state.LogEntry) {
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

// broken reports a fault of the engine itself.
func (a *Account) broken(what string, attrs ...any) {
	if a.cfg.Strict {
		panic(fmt.Sprint("engine: ", what, " ", attrs))
	}
	a.note(slog.LevelError, what, attrs...)
}

// append logs an event and tells the followers.
func (a *Account) append(e state.LogEntry) {
	l := &a.state.Log
	l.Issued++
	e.Seq, e.At = l.Issued, a.state.Now.UnixMilli()
	l.Events = append(l.Events, &e)
	if l.EventsByTime != nil {
		l.EventsByTime = append(l.EventsByTime, &e)
	}
	a.addObserved(e.Size())
	if e.Ends() {
		a.addObserved(state.MessageCost + int64(e.Message.Weight))
	}
	switch {
	case e.Message == nil:
		a.state.Tally.Run(RunState(e.State))
	case e.State == string(Created):
		l.Created = append(l.Created, &e)
		if l.CreatedByTime != nil {
			l.CreatedByTime = append(l.CreatedByTime, &e)
		}
	}
	a.countUsage(&e)
	if len(l.Events) > keepEvents {
		a.forget(keepEvents / 4)
	}
	a.changed()
}

// Events lists log events, newest first.
func (a *Account) Events(f Filter) (Page[Event], error) {
	a.lock()
	defer a.unlock()
	return listPage(a, "log", f, maxLogPage, a.state.Log.Newest, f.event, a.viewEvent)
}

// Follow gives the events after a position, at most as many as asked for (0:
// all), and a channel that is closed when there are more. A position that lies
// ahead, as after a Reset, means all.
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
		events[i] = a.viewEvent(e)
	}
	return events, more
}

// atOnce is for a follower that has not had all that there is.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// event matches a log event.
func (f *Filter) event(e *state.LogEntry) bool {
	if f.WorkflowOnly && e.Run == nil || f.MessagesOnly && e.Run != nil || !isWanted(f.States, e.State) {
		return false
	}
	at := time.UnixMilli(e.At)
	if e.Run == nil {
		return f.run(nil) && f.message(e.Message, at)
	}
	if !f.run(e.Run.Ref()) {
		return false
	}
	if e.Message == nil {
		return f.within(at) && len(f.IDs) == 0 && isAnyWanted(f.Labels, e.Run.Options.Labels)
	}
	return f.message(e.Message, at)
}

// viewEvent is the event as lists show it.
func (a *Account) viewEvent(e *state.LogEntry) Event {
	v := Event{Seq: e.Seq, Time: time.UnixMilli(e.At), State: e.State}
	if e.Next != 0 {
		v.NextAt = time.UnixMilli(e.Next)
	}
	if e.Message != nil {
		m := a.redacted(e.Message)
		v.Message = &m
	}
	if d := e.LogDetail; d != nil {
		v.Outcome, v.Error, v.Rule, v.DLQID, v.Invoker = d.Outcome, d.Error, d.Rule, d.DLQID, d.Invoker
		if e.Message != nil && d.Outcome != nil {
			v.Tried = e.Message.AttemptedStep(d.Outcome)
		}
	}
	if e.Run != nil {
		viewEventRun(e, &v)
	}
	return v
}
