package engine

import (
	"fmt"
	"log/slog"

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

// Events lists log events, newest first.
func (a *Account) Events(f Filter) (Page[Event], error) {
	a.lock()
	defer a.unlock()
	return a.view().Events(f)
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
	events, seen := make([]Event, len(tail)), a.view()
	for i, e := range tail {
		events[i] = seen.Event(e)
	}
	return events, more
}

// atOnce is a closed channel, for a follower that has not received all existing events.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
