package state

import (
	"time"
)

// TimerKind says what a timer wakes.
type TimerKind uint8

// The kinds of timers.
const (
	WakeMessage  TimerKind = iota // its delay has ended or its retry is due
	WakeFlow                      // a flow-control key may start again
	WakeSchedule                  // a schedule publishes
	WakeOutcome                   // the delay of a stub has passed
	WakeWaiter                    // a waiting run times out
)

// TimerPlace is the timer of an object: its place in the heap and its kind.
type TimerPlace struct {
	Place int32 // from 1; 0: no timer
	Kind  TimerKind
}

// Sleeper is an object with at most one timer.
type Sleeper interface {
	Timed() *TimerPlace
	Name() string // unique among objects of its kind
}

// Timed returns its timer.
func (m *Message) Timed() *TimerPlace { return &m.Timer }

// Planned reports whether the next attempt waits for a time: a queue or a flow-control key may
// hold a message whose time has come.
func (m *Message) Planned() bool {
	return m.Timer.Place != 0 && (m.State == Created || m.State == Retry)
}

// Name returns its id.
func (m *Message) Name() string { return m.ID }

// Timed returns its timer.
func (k *FlowGate) Timed() *TimerPlace { return &k.Timer }

// Name returns its key.
func (k *FlowGate) Name() string { return k.Key }

// Timed returns its timer.
func (s *Schedule) Timed() *TimerPlace { return &s.timer }

// Name returns its id.
func (s *Schedule) Name() string { return s.ID }

// Timed returns its timer.
func (w *PendingWait) Timed() *TimerPlace { return &w.timer }

// Name returns the id of the waiter, because a run may have several.
func (w *PendingWait) Name() string { return w.WaiterID }

// Wakes reports whether an object can have a timer of this kind.
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

// Booking is a timer in the heap.
type Booking struct {
	Due   int64 // Unix ms
	Seq   uint64
	Owner Sleeper
}

// Timers is a 4-ary heap by due time, then by sequence number. Owners have their place in
// it, so that a timer can be removed when it is no longer needed. Entries are values, not
// pointers, so that a million of them use little memory.
type Timers struct {
	Heap   []Booking
	Issued uint64
	Cron   int // number of timers of schedules
}

// before orders timers of the same instant by sequence number, so that replay fires them in
// the same order.
func (b Booking) before(c Booking) bool {
	return b.Due < c.Due || b.Due == c.Due && b.Seq < c.Seq
}

// Add sets the timer of an owner and replaces the one it may have.
func (h *Timers) Add(at time.Time, kind TimerKind, owner Sleeper) {
	h.Remove(owner)
	h.Issued++
	h.Load(Booking{at.UnixMilli(), h.Issued, owner}, kind)
}

// Load adds a timer to the heap with its sequence number unchanged.
func (h *Timers) Load(b Booking, kind TimerKind) {
	b.Owner.Timed().Kind = kind
	if kind == WakeSchedule {
		h.Cron++
	}
	h.Heap = append(h.Heap, Booking{})
	h.rise(len(h.Heap)-1, b)
}

// Remove removes the timer of an owner, if it has one.
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

// Next returns when the earliest timer is due; false if there is none.
func (h *Timers) Next() (time.Time, bool) {
	if len(h.Heap) == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(h.Heap[0].Due), true
}

// Pop removes the earliest timer. There must be one.
func (h *Timers) Pop() (Sleeper, TimerKind) {
	owner := h.Heap[0].Owner
	h.Remove(owner)
	return owner, owner.Timed().Kind
}

// Seq returns the sequence number of the timer of an owner, 0 for none.
func (h *Timers) Seq(owner Sleeper) uint64 {
	if t := owner.Timed(); t.Place > 0 {
		return h.Heap[t.Place-1].Seq
	}
	return 0
}

// put is the only function that writes an entry, because it must also set the place of the owner.
func (h *Timers) put(i int, b Booking) {
	h.Heap[i] = b
	b.Owner.Timed().Place = int32(i + 1)
}

// rise puts a timer at index i, which is free, or moves it up.
func (h *Timers) rise(i int, b Booking) {
	for i > 0 && b.before(h.Heap[(i-1)/4]) {
		h.put(i, h.Heap[(i-1)/4])
		i = (i - 1) / 4
	}
	h.put(i, b)
}

// sink puts a timer at index i, which is free, or moves it down.
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
