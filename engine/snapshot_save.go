package engine

import (
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
)

// A snapshot is the state of one instant, and commands continue while it is
// written. At that instant, begin notes what there is: lists of pointers, and
// whole what is small. Then the saver copies record after record, a few of them
// each time that it has the lock, and writes them without it. A command that
// changes an object calls touch before: if the object belongs to the instant
// and is not copied yet, its record is made there and then, and kept until its
// turn. What is new since then is marked so that it is left out.
//
// Objects have their place in the mark that they carry, so that no map of a
// million messages is needed. What records point at is never changed: bodies,
// headers, options, outcomes.

// batch is how many records are copied at once under the lock, well within a
// millisecond.
const batch = 256

// table has the objects of a kind, in the order in which they were met.
type table[T, S any] struct {
	at      func(*T) *state.SnapshotMark
	copy    func(*T) S
	list    []*T
	copied  int      // of the list, from its beginning
	earlier map[*T]S // records of objects that have changed since
}

// saver writes a snapshot.
type saver struct {
	account *Account
	from    *state.State // that of the account, or what a Restore has put aside
	epoch   uint32
	most    int    // records copied at once under the lock
	between func() // called whenever the lock is free; for tests

	head      header
	events    []*state.LogEntry
	details   map[*state.LogEntry]*state.LogDetail // of events that have changed since
	entries   []*DLQEntry
	callbacks map[*DLQEntry]*CallbackInfo // of entries that have changed since
	waiters   []savedWaiter
	flowKeys  []*state.FlowGate
	flows     map[*state.FlowGate]savedFlow // keys that have changed since
	turns     []state.ReadyTurn
	runList   []*Run
	live      map[string]*Message
	groups    []*Group
	schedules []savedSchedule
	marks     []state.DedupMark
	minutes   usage.Minutes
	search    []search.Index
	vectors   []vector.Saved
	inFlight  []savedTurn

	messages table[Message, savedMessage]
	items    table[state.StepItem, savedItem]
	runs     table[Run, savedRun]
	slots    table[state.QueueSlot, savedSlot]
	queues   table[state.QueueBacklog, savedQueue]
}

// place is where v is in the list of its kind.
func (t *table[T, S]) place(epoch uint32, v *T) int {
	if v == nil {
		return 0
	}
	at := t.at(v)
	if at.Epoch != epoch {
		t.list = append(t.list, v)
		*at = state.SnapshotMark{Epoch: epoch, Place: uint32(len(t.list))}
	}
	return int(at.Place)
}

// keep makes the record of an object that is about to change.
func (t *table[T, S]) keep(epoch uint32, v *T) {
	if at := t.at(v); at.Epoch == epoch && int(at.Place) <= t.copied {
		return // new since then, or copied
	}
	if _, ok := t.earlier[v]; ok {
		return
	}
	if t.earlier == nil {
		t.earlier = map[*T]S{}
	}
	t.earlier[v] = t.copy(v)
}

// record is an object as it was.
func (t *table[T, S]) record(v *T) S {
	s, ok := t.earlier[v]
	if !ok {
		return t.copy(v)
	}
	delete(t.earlier, v)
	return s
}

// touch is called before an object of the state changes.
func (a *Account) touch(v any) {
	w := a.saving
	if w == nil {
		return
	}
	switch v := v.(type) {
	case *Message: // what it stands for changes with it
		w.messages.keep(w.epoch, v)
		if v.Step != nil {
			a.touch(v.Step)
		}
		if run := a.state.Runs[v.RunID]; run != nil {
			a.touch(run)
		}
		if v.Slot != nil {
			a.touch(v.Slot)
			a.touch(v.Slot.Queue)
		}
	case *state.StepItem:
		w.items.keep(w.epoch, v)
	case *Run:
		w.runs.keep(w.epoch, v)
	case *state.QueueSlot:
		w.slots.keep(w.epoch, v)
	case *state.QueueBacklog:
		w.queues.keep(w.epoch, v)
	case *state.FlowGate:
		if _, ok := w.flows[v]; !ok {
			w.flows[v] = w.copyFlow(v)
		}
	case *state.LogEntry:
		if _, ok := w.details[v]; !ok {
			w.details[v] = v.LogDetail
		}
	case *DLQEntry:
		if _, ok := w.callbacks[v]; !ok {
			w.callbacks[v] = v.Callback
		}
	}
}

// isNew marks a message that is created now.
func (a *Account) isNew(m *Message) {
	if a.saving != nil {
		m.Saved = state.SnapshotMark{Epoch: a.saving.epoch}
	}
}
