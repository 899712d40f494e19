package engine

import (
	"cmp"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"
)

// maxLogPage is the largest and the default page ("Limits", interface document).
const maxLogPage = 1000

// keepEvents is how many log events an account keeps; the oldest go first.
const keepEvents = 500_000

// event is a log entry as it is kept: small, since there are many.
type event struct {
	seq   uint64
	at    int64 // Unix ms
	next  int64 // Unix ms of the next attempt, 0 for none
	state string
	msg   *Message // nil on run-level events
	run   *Run     // nil for plain messages
	*detail
}

// detail is what only some events have.
type detail struct {
	out     *Outcome
	err     string
	rule    string // by which the next attempt was booked
	dlqID   string
	invoker *RunRef
	step    *item
}

func (e *event) position() position { return position{e.at, e.seq} }

// eventLog keeps events in the order of their sequence, without gaps.
type eventLog struct {
	events  []*event
	created []*event // those of them that tell of a new message
	issued  uint64
	bare    uint64 // below this sequence, bodies and headers have been dropped

	// The same in the order of their time. Until a fixture brings a past, that is
	// the order of their sequence, and these are nil.
	eventsByTime, createdByTime []*event
}

// sort follows events that were logged with a time in the past.
func (l *eventLog) sort() {
	l.eventsByTime, l.createdByTime = byTime(l.events), byTime(l.created)
}

// byTime is the list in the order of time, nil if it is in that order.
func byTime(list []*event) []*event {
	if slices.IsSortedFunc(list, byPosition[*event]) {
		return nil
	}
	return slices.SortedFunc(slices.Values(list), byPosition[*event])
}

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
func (a *Account) move(m *Message, to MessageState, e event) {
	if !mayFollow(m.State, to) {
		a.broken("illegal transition", "message", m.ID, "from", m.State, "to", to)
	}
	a.touch(m)
	a.tally.message(m.State, to)
	m.State = to
	e.state, e.msg = string(to), m
	if !m.Role.does().reportsFailed {
		e.run = a.runs[m.RunID]
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
func (a *Account) append(e event) {
	l := &a.log
	l.issued++
	e.seq, e.at = l.issued, a.now.UnixMilli()
	l.events = append(l.events, &e)
	if l.eventsByTime != nil {
		l.eventsByTime = append(l.eventsByTime, &e)
	}
	a.addObserved(e.size())
	if e.ends() {
		a.addObserved(messageCost + int64(e.msg.weight))
	}
	switch {
	case e.msg == nil:
		a.tally.run(RunState(e.state))
	case e.state == string(Created):
		l.created = append(l.created, &e)
		if l.createdByTime != nil {
			l.createdByTime = append(l.createdByTime, &e)
		}
	}
	a.countUsage(&e)
	if len(l.events) > keepEvents {
		a.forget(keepEvents / 4)
	}
	a.changed()
}

// forget lets go of the oldest n events.
func (l *eventLog) forget(n int) {
	first := l.events[n-1].seq + 1
	l.events = append(make([]*event, 0, len(l.events)), l.events[n:]...)
	old, _ := slices.BinarySearchFunc(l.created, first, func(e *event, seq uint64) int { return cmp.Compare(e.seq, seq) })
	l.created = append([]*event(nil), l.created[old:]...)
	l.sort()
}

// newestCreated walks through the CREATED events below the given position.
func (l *eventLog) newestCreated(below position) iter.Seq[*event] {
	if l.createdByTime != nil {
		return newestBelow(l.createdByTime, below)
	}
	return newestBelow(l.created, below)
}

// newestPosition walks from the newest event below the given position to the oldest.
func (l *eventLog) newest(below position) iter.Seq[*event] {
	if l.eventsByTime != nil {
		return newestBelow(l.eventsByTime, below)
	}
	return newestBelow(l.events, below)
}

// newestBelow walks down a list that is in the order of time.
func newestBelow(list []*event, below position) iter.Seq[*event] {
	return func(yield func(*event) bool) {
		n, _ := slices.BinarySearchFunc(list, below, func(e *event, p position) int { return e.position().compare(p) })
		for _, e := range slices.Backward(list[:n]) {
			if !yield(e) {
				return
			}
		}
	}
}

// start is the index of the first event at or above the sequence.
func (l *eventLog) start(seq uint64) int {
	if len(l.events) == 0 || seq <= l.events[0].seq {
		return 0
	}
	return int(min(seq-l.events[0].seq, uint64(len(l.events))))
}

// Events lists log events, newest first.
func (a *Account) Events(f Filter) (Page[Event], error) {
	a.lock()
	defer a.unlock()
	return listPage(a, "log", f, maxLogPage, a.log.newest, f.event, a.viewEvent)
}

// Follow gives the events after a position, at most as many as asked for (0:
// all), and a channel that is closed when there are more. A position that lies
// ahead, as after a Reset, means all.
func (a *Account) Follow(after uint64, most int) ([]Event, <-chan struct{}) {
	a.lock()
	defer a.unlock()
	if after > a.log.issued {
		after = 0
	}
	tail, more := a.log.events[a.log.start(after+1):], a.changes()
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
func (f *Filter) event(e *event) bool {
	if f.WorkflowOnly && e.run == nil || f.MessagesOnly && e.run != nil || !isWanted(f.States, e.state) {
		return false
	}
	at := time.UnixMilli(e.at)
	if e.run == nil {
		return f.run(nil) && f.message(e.msg, at)
	}
	if !f.run(e.run.ref()) {
		return false
	}
	if e.msg == nil {
		return f.within(at) && len(f.IDs) == 0 && isAnyWanted(f.Labels, e.run.Options.Labels)
	}
	return f.message(e.msg, at)
}

// viewEvent is the event as lists show it.
func (a *Account) viewEvent(e *event) Event {
	v := Event{Seq: e.seq, Time: time.UnixMilli(e.at), State: e.state}
	if e.next != 0 {
		v.NextAt = time.UnixMilli(e.next)
	}
	if e.msg != nil {
		m := a.redacted(e.msg)
		v.Message = &m
	}
	if d := e.detail; d != nil {
		v.Outcome, v.Error, v.Rule, v.DLQID, v.Invoker = d.out, d.err, d.rule, d.dlqID, d.invoker
		if e.msg != nil && d.out != nil {
			v.Tried = e.msg.attemptedStep(d.out)
		}
	}
	if e.run != nil {
		viewEventRun(e, &v)
	}
	return v
}
