package state

import (
	"cmp"
	"iter"
	"slices"
)

// LogEntry is an event of the log as it is kept: small, because there are many.
type LogEntry struct {
	Seq     uint64
	At      int64 // Unix ms
	Next    int64 // Unix ms of the next attempt, 0 for none
	State   string
	Message *Message // nil on run-level events
	Run     *Run     // nil for plain messages
	*LogDetail
}

// LogDetail has the fields that only some events have.
type LogDetail struct {
	Outcome *Outcome
	Error   string
	Rule    string // that set the time of the next attempt
	DLQID   string `saved:"dlqId"`
	Invoker *RunRef
	Step    *StepItem `saved:"apart"`
}

// Position is its place among the events, which are ordered by time.
func (e *LogEntry) Position() Position { return Position{e.At, e.Seq} }

// EventLog has the events in the order of their sequence numbers, without gaps.
type EventLog struct {
	Events  []*LogEntry
	Created []*LogEntry // those in state CREATED
	Issued  uint64
	Bare    uint64 // bodies and headers of events below this sequence were dropped

	// The same lists in the order of time; nil while that is the order of sequence, which
	// only a fixture with events in the past changes.
	EventsByTime, CreatedByTime []*LogEntry
}

// Sort must be called after events with a time in the past were added.
func (l *EventLog) Sort() {
	l.EventsByTime, l.CreatedByTime = byTime(l.Events), byTime(l.Created)
}

// byTime returns the list in the order of time; nil if it already is.
func byTime(list []*LogEntry) []*LogEntry {
	if slices.IsSortedFunc(list, ByPosition[*LogEntry]) {
		return nil
	}
	return slices.SortedFunc(slices.Values(list), ByPosition[*LogEntry])
}

// Forget removes the oldest n events.
func (l *EventLog) Forget(n int) {
	first := l.Events[n-1].Seq + 1
	l.Events = append(make([]*LogEntry, 0, len(l.Events)), l.Events[n:]...)
	old, _ := slices.BinarySearchFunc(l.Created, first, func(e *LogEntry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	l.Created = append([]*LogEntry(nil), l.Created[old:]...)
	l.Sort()
}

// NewestCreated yields the CREATED events below the given position, newest first.
func (l *EventLog) NewestCreated(below Position) iter.Seq[*LogEntry] {
	if l.CreatedByTime != nil {
		return newestBelow(l.CreatedByTime, below)
	}
	return newestBelow(l.Created, below)
}

// Newest yields the events below the given position, newest first.
func (l *EventLog) Newest(below Position) iter.Seq[*LogEntry] {
	if l.EventsByTime != nil {
		return newestBelow(l.EventsByTime, below)
	}
	return newestBelow(l.Events, below)
}

// newestBelow yields the entries of a list in the order of time, from the end.
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

// Index returns the index of the first event at or above the sequence number.
func (l *EventLog) Index(seq uint64) int {
	if len(l.Events) == 0 || seq <= l.Events[0].Seq {
		return 0
	}
	return int(min(seq-l.Events[0].Seq, uint64(len(l.Events))))
}
