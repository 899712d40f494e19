package state

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
)

// recordBatch is how many records are copied at once under the lock; this takes well under
// a millisecond.
const recordBatch = 256

// table has the objects of a kind, in the order in which the writer met them.
type table[T, S any] struct {
	at      func(*T) *SnapshotMark
	copy    func(*T) S
	list    []*T
	copied  int      // number of objects at the beginning of the list that are copied
	earlier map[*T]S // records of objects that have changed since Begin
}

// locker is the lock of an account.
type locker interface {
	Lock()
	Unlock()
}

// Instant describes a snapshot apart from the state itself.
type Instant struct {
	Epoch   uint32 // different for each snapshot of the same objects
	Account string
	Clock   string // real, manual or auto
	LSN     uint64 // sequence number of the last journal record

	Settings json.RawMessage // settings that the following records depend on; nil for none
}

// SnapshotWriter writes a snapshot.
type SnapshotWriter struct {
	lock     locker
	from     *State // the state of the account; after Detach, a copy
	epoch    uint32
	detached bool   // another state has replaced this one in the account
	Most     int    // records copied at once under the lock
	Between  func() // called after each release of the lock; for tests

	head      header
	events    []*LogEntry
	details   map[*LogEntry]*LogDetail // of events that have changed since Begin
	entries   []*DLQEntry
	callbacks map[*DLQEntry]*CallbackInfo // of entries that have changed since Begin
	waiters   []savedWaiter
	flowKeys  []*FlowGate
	flows     map[*FlowGate]savedFlow // of keys that have changed since Begin
	turns     []ReadyTurn
	runList   []*Run
	live      map[string]*Message
	groups    []*Group
	families  []Family
	schedules []savedSchedule
	marks     []DedupMark
	minutes   usage.Minutes
	search    []search.Index
	vectors   []vector.Saved
	inFlight  []savedTurn

	messages table[Message, savedMessage]
	items    table[StepItem, StepItem]
	runs     table[Run, savedRun]
	slots    table[QueueSlot, savedSlot]
	queues   table[QueueBacklog, savedQueue]
}

// place returns the place of v in the list of its kind, and appends v if it has none; 0 for nil.
func (t *table[T, S]) place(epoch uint32, v *T) int {
	if v == nil {
		return 0
	}
	at := t.at(v)
	if at.Epoch != epoch {
		t.list = append(t.list, v)
		*at = SnapshotMark{Epoch: epoch, Place: uint32(len(t.list))}
	}
	return int(at.Place)
}

// keep makes the record of an object that is about to change, unless it is already copied
// or was created after Begin.
func (t *table[T, S]) keep(epoch uint32, v *T) {
	if at := t.at(v); at.Epoch == epoch && int(at.Place) <= t.copied {
		return // created after Begin, or copied
	}
	if _, ok := t.earlier[v]; ok {
		return
	}
	if t.earlier == nil {
		t.earlier = map[*T]S{}
	}
	t.earlier[v] = t.copy(v)
}

// record returns an object as it was at Begin.
func (t *table[T, S]) record(v *T) S {
	s, ok := t.earlier[v]
	if !ok {
		return t.copy(v)
	}
	delete(t.earlier, v)
	return s
}

// Touch must be called, under the lock, before an object of the account changes; objects of other
// types than these, which are owners of timers, are copied by Begin. After Detach it does nothing,
// because the objects that change belong to another state.
func (w *SnapshotWriter) Touch(v any) {
	if w.detached {
		return
	}
	switch v := v.(type) {
	case *Message: // the objects it refers to change with it
		w.messages.keep(w.epoch, v)
		if v.Step != nil {
			w.Touch(v.Step)
		}
		if run := w.from.Runs[v.RunID]; run != nil {
			w.Touch(run)
		}
		if v.Slot != nil {
			w.Touch(v.Slot)
			w.Touch(v.Slot.Queue)
		}
	case *StepItem:
		w.items.keep(w.epoch, v)
	case *Run:
		w.runs.keep(w.epoch, v)
	case *QueueSlot:
		w.slots.keep(w.epoch, v)
	case *QueueBacklog:
		w.queues.keep(w.epoch, v)
	case *FlowGate:
		if _, ok := w.flows[v]; !ok {
			w.flows[v] = w.copyFlow(v)
		}
	case *LogEntry:
		if _, ok := w.details[v]; !ok {
			w.details[v] = v.LogDetail
		}
	case *DLQEntry:
		if _, ok := w.callbacks[v]; !ok {
			w.callbacks[v] = v.Callback
		}
	}
}

// MarkNew marks a message created after Begin, so that the snapshot leaves it out.
func (w *SnapshotWriter) MarkNew(m *Message) { m.Saved = SnapshotMark{Epoch: w.epoch} }
