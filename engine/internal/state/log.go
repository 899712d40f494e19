package state

import (
	"cmp"
	"iter"
	"slices"
)

// LogEntry is a log entry as it is kept: small, since there are many.
type LogEntry struct {
	Seq     uint64
	At      int64 // Unix ms
	Next    int64 // Unix ms of the next attempt, 0 for none
	State   string
	Message *Message // nil on run-level events
	Run     *Run     // nil for plain messages
	*LogDetail
}

// LogDetail is what only some events have.
type LogDetail struct {
	Outcome *Outcome
	Error   string
	Rule    string // by which the next attempt was booked
	DLQID   string
	Invoker *RunRef
	Step    *StepItem
}

// Position is its place among the events, which go by time.
func (e *LogEntry) Position() Position { return Position{e.At, e.Seq} }

// EventLog keeps events in the order of their sequence, without gaps.
type EventLog struct {
	Events  []*LogEntry
	Created []*LogEntry // those of them that tell of a new message
	Issued  uint64
	Bare    uint64 // below this sequence, bodies and headers have been dropped

	// The same in the order of their time. Until a fixture brings a past, that is
	// the order of their sequence, and these are nil.
	EventsByTime, CreatedByTime []*LogEntry
}

// Sort follows events that were logged with a time in the past.
func (l *EventLog) Sort() {
	l.EventsByTime, l.CreatedByTime = byTime(l.Events), byTime(l.Created)
}

// byTime is the list in the order of time, nil if it is in that order.
func byTime(list []*LogEntry) []*LogEntry {
	if slices.IsSortedFunc(list, ByPosition[*LogEntry]) {
		return nil
	}
	return slices.SortedFunc(slices.Values(list), ByPosition[*LogEntry])
}

// Forget lets go of the oldest n events.
func (l *EventLog) Forget(n int) {
	first := l.Events[n-1].Seq + 1
	l.Events = append(make([]*LogEntry, 0, len(l.Events)), l.Events[n:]...)
	old, _ := slices.BinarySearchFunc(l.Created, first, func(e *LogEntry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	l.Created = append([]*LogEntry(nil), l.Created[old:]...)
	l.Sort()
}

// NewestCreated walks through the CREATED events below the given position.
func (l *EventLog) NewestCreated(below Position) iter.Seq[*LogEntry] {
	if l.CreatedByTime != nil {
		return newestBelow(l.CreatedByTime, below)
	}
	return newestBelow(l.Created, below)
}

// Newest walks from the newest event below the given position to the oldest.
func (l *EventLog) Newest(below Position) iter.Seq[*LogEntry] {
	if l.EventsByTime != nil {
		return newestBelow(l.EventsByTime, below)
	}
	return newestBelow(l.Events, below)
}

// newestBelow walks down a list that is in the order of time.
func newestBelow(list []*LogEntry, below Position) iter.Seq[*LogEntry] {
	return func(yield func(*LogEntry) bool) {
		n, _ := slices.BinarySearchFunc(list, below, func(e *LogEntry, p Position) int { return e.Position().compare(p) })
		for _, e := range slices.Backward(list[:n]) {
			if !yield(e) {
				return
			}
		}
	}
}

// Index is the index of the first event at or above the sequence.
func (l *EventLog) Index(seq uint64) int {
	if len(l.Events) == 0 || seq <= l.Events[0].Seq {
		return 0
	}
	return int(min(seq-l.Events[0].Seq, uint64(len(l.Events))))
}
