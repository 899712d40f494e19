package engine

import (
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

// savedAt is where an object is in the snapshot of an epoch.
type savedAt struct {
	epoch uint32
	place uint32 // 0: it is new since then
	live  bool   // of a message: it had not ended
}

// table has the objects of a kind, in the order in which they were met.
type table[T, S any] struct {
	at      func(*T) *savedAt
	copy    func(*T) S
	list    []*T
	copied  int      // of the list, from its beginning
	earlier map[*T]S // records of objects that have changed since
}

// saver writes a snapshot.
type saver struct {
	account *Account
	from    *state // that of the account, or what a Restore has put aside
	epoch   uint32
	most    int    // records copied at once under the lock
	between func() // called whenever the lock is free; for tests

	head      header
	events    []*event
	details   map[*event]*detail // of events that have changed since
	entries   []*DLQEntry
	callbacks map[*DLQEntry]*CallbackInfo // of entries that have changed since
	waiters   []savedWaiter
	flowKeys  []*flowKey
	flows     map[*flowKey]savedFlow // keys that have changed since
	turns     []turn
	runList   []*Run
	live      map[string]*Message
	groups    []*Group
	schedules []savedSchedule
	marks     []mark
	minutes   usage.Minutes
	search    []search.Index
	vectors   []vector.Saved
	inFlight  []savedTurn

	messages table[Message, savedMessage]
	items    table[item, savedItem]
	runs     table[Run, savedRun]
	slots    table[slot, savedSlot]
	queues   table[queue, savedQueue]
}

// place is where v is in the list of its kind.
func (t *table[T, S]) place(epoch uint32, v *T) int {
	if v == nil {
		return 0
	}
	at := t.at(v)
	if at.epoch != epoch {
		t.list = append(t.list, v)
		*at = savedAt{epoch: epoch, place: uint32(len(t.list))}
	}
	return int(at.place)
}

// keep makes the record of an object that is about to change.
func (t *table[T, S]) keep(epoch uint32, v *T) {
	if at := t.at(v); at.epoch == epoch && int(at.place) <= t.copied {
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
		if v.step != nil {
			a.touch(v.step)
		}
		if run := a.runs[v.RunID]; run != nil {
			a.touch(run)
		}
		if v.queue != nil {
			a.touch(v.queue)
			a.touch(v.queue.queue)
		}
	case *item:
		w.items.keep(w.epoch, v)
	case *Run:
		w.runs.keep(w.epoch, v)
	case *slot:
		w.slots.keep(w.epoch, v)
	case *queue:
		w.queues.keep(w.epoch, v)
	case *flowKey:
		if _, ok := w.flows[v]; !ok {
			w.flows[v] = w.copyFlow(v)
		}
	case *event:
		if _, ok := w.details[v]; !ok {
			w.details[v] = v.detail
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
		m.saved = savedAt{epoch: a.saving.epoch}
	}
}
