package state

import (
	"time"
)

// TimerKind says what a timer wakes.
type TimerKind uint8

// The kinds of timers.
const (
	WakeMessage  TimerKind = iota // its delay is over or its retry is due
	WakeFlow                      // a flow-control key may start again
	WakeSchedule                  // a schedule publishes
	WakeOutcome                   // the time that a stub claimed has passed
	WakeWaiter                    // a waiting run times out
)

// TimerPlace is the place in the heap of something that waits for a time.
type TimerPlace struct {
	Place int32 // from 1 on; 0: it waits for none
	Kind  TimerKind
}

// Sleeper is what a timer wakes. It has at most one.
type Sleeper interface {
	Timed() *TimerPlace
	Name() string // among those of its kind
}

// Timed is the place of its timer.
func (m *Message) Timed() *TimerPlace { return &m.Timer }

// Name is its id.
func (m *Message) Name() string { return m.ID }

// Timed is the place of its timer.
func (k *FlowGate) Timed() *TimerPlace { return &k.Timer }

// Name is its key.
func (k *FlowGate) Name() string { return k.Key }

// Timed is the place of its timer.
func (s *Schedule) Timed() *TimerPlace { return &s.timer }

// Name is its id.
func (s *Schedule) Name() string { return s.ID }

// Timed is the place of its timer.
func (w *PendingWait) Timed() *TimerPlace { return &w.timer }

// Name is the id of the waiter, since several may belong to one run.
func (w *PendingWait) Name() string { return w.WaiterID }

// Wakes reports whether a timer of that kind can wake the owner.
func (k TimerKind) Wakes(owner Sleeper) bool {
	switch o := owner.(type) {
	case *Message:
		return k == WakeMessage || k == WakeOutcome && o.Last != nil
	case *FlowGate:
		return k == WakeFlow
	case *Schedule:
		return k == WakeSchedule
	}
	return k == WakeWaiter
}

// Booking is an entry of the heap.
type Booking struct {
	Due   int64 // Unix ms
	Seq   uint64
	Owner Sleeper
}

// Timers is a 4-ary heap by due time, then by sequence. Owners know their place
// in it, so that what nobody waits for any more is not there. Values, not
// pointers, keep a million of them cheap.
type Timers struct {
	Heap   []Booking
	Issued uint64
	Cron   int // how many of them belong to schedules
}

// before keeps timers of the same instant in the order of booking, which replay repeats.
func (b Booking) before(c Booking) bool {
	return b.Due < c.Due || b.Due == c.Due && b.Seq < c.Seq
}

// Add books a timer in place of the one that its owner may have.
func (h *Timers) Add(at time.Time, kind TimerKind, owner Sleeper) {
	h.Remove(owner)
	h.Issued++
	h.Load(Booking{at.UnixMilli(), h.Issued, owner}, kind)
}

// Load puts a booking into the heap.
func (h *Timers) Load(b Booking, kind TimerKind) {
	b.Owner.Timed().Kind = kind
	if kind == WakeSchedule {
		h.Cron++
	}
	h.Heap = append(h.Heap, Booking{})
	h.rise(len(h.Heap)-1, b)
}

// Remove takes the timer of its owner back, if there is one.
func (h *Timers) Remove(owner Sleeper) {
	t := owner.Timed()
	if t.Place == 0 {
		return
	}
	i, last := int(t.Place)-1, len(h.Heap)-1
	t.Place = 0
	if t.Kind == WakeSchedule {
		h.Cron--
	}
	moved := h.Heap[last]
	h.Heap[last] = Booking{}
	if h.Heap = h.Heap[:last]; i == last {
		return
	}
	if i > 0 && moved.before(h.Heap[(i-1)/4]) {
		h.rise(i, moved)
	} else {
		h.sink(i, moved)
	}
}

// Next is when the earliest timer is due.
func (h *Timers) Next() (time.Time, bool) {
	if len(h.Heap) == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(h.Heap[0].Due), true
}

// Pop takes the earliest timer.
func (h *Timers) Pop() (Sleeper, TimerKind) {
	owner := h.Heap[0].Owner
	h.Remove(owner)
	return owner, owner.Timed().Kind
}

// Seq is the sequence of the timer of its owner, 0 for none.
func (h *Timers) Seq(owner Sleeper) uint64 {
	if t := owner.Timed(); t.Place > 0 {
		return h.Heap[t.Place-1].Seq
	}
	return 0
}

// put is the only one that writes an entry: the owner must know its place.
func (h *Timers) put(i int, b Booking) {
	h.Heap[i] = b
	b.Owner.Timed().Place = int32(i + 1)
}

// rise puts a booking at a free place, or above it.
func (h *Timers) rise(i int, b Booking) {
	for i > 0 && b.before(h.Heap[(i-1)/4]) {
		h.put(i, h.Heap[(i-1)/4])
		i = (i - 1) / 4
	}
	h.put(i, b)
}

// sink puts a booking at a free place, or below it.
func (h *Timers) sink(i int, b Booking) {
	for {
		least, earliest := i, b
		for c := 4*i + 1; c <= 4*i+4 && c < len(h.Heap); c++ {
			if h.Heap[c].before(earliest) {
				least, earliest = c, h.Heap[c]
			}
		}
		if least == i {
			h.put(i, b)
			return
		}
		h.put(i, earliest)
		i = least
	}
}
