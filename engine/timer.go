package engine

import "time"

// timerKind says what a timer wakes.
type timerKind uint8

const (
	wakeMessage  timerKind = iota // its delay is over or its retry is due
	wakeFlow                      // a flow-control key may start again
	wakeSchedule                  // a schedule publishes
	wakeOutcome                   // the time that a stub claimed has passed
	wakeWaiter                    // a waiting run times out
)

// timer is the place in the heap of something that waits for a time.
type timer struct {
	place int32 // from 1 on; 0: it waits for none
	kind  timerKind
}

// sleeper is what a timer wakes. It has at most one.
type sleeper interface {
	timed() *timer
	name() string // among those of its kind
}

func (m *Message) timed() *timer  { return &m.timer }
func (m *Message) name() string   { return m.ID }
func (k *flowKey) timed() *timer  { return &k.timer }
func (k *flowKey) name() string   { return k.Key }
func (s *Schedule) timed() *timer { return &s.timer }
func (s *Schedule) name() string  { return s.ID }
func (w *waiter) timed() *timer   { return &w.timer }
func (w *waiter) name() string    { return w.id }

// wakes reports whether a timer of that kind can wake the owner.
func (k timerKind) wakes(owner sleeper) bool {
	switch o := owner.(type) {
	case *Message:
		return k == wakeMessage || k == wakeOutcome && o.last != nil
	case *flowKey:
		return k == wakeFlow
	case *Schedule:
		return k == wakeSchedule
	}
	return k == wakeWaiter
}

// booking is an entry of the heap.
type booking struct {
	due   int64 // Unix ms
	seq   uint64
	owner sleeper
}

// timers is a 4-ary heap by due time, then by sequence. Owners know their place
// in it, so that what nobody waits for any more is not there. Values, not
// pointers, keep a million of them cheap.
type timers struct {
	heap   []booking
	issued uint64
	cron   int // how many of them belong to schedules
}

func (b booking) before(c booking) bool {
	return b.due < c.due || b.due == c.due && b.seq < c.seq
}

// add books a timer in place of the one that its owner may have.
func (h *timers) add(at time.Time, kind timerKind, owner sleeper) {
	h.remove(owner)
	h.issued++
	h.load(booking{at.UnixMilli(), h.issued, owner}, kind)
}

// load puts a booking into the heap.
func (h *timers) load(b booking, kind timerKind) {
	b.owner.timed().kind = kind
	if kind == wakeSchedule {
		h.cron++
	}
	h.heap = append(h.heap, booking{})
	h.rise(len(h.heap)-1, b)
}

// remove takes the timer of its owner back, if there is one.
func (h *timers) remove(owner sleeper) {
	t := owner.timed()
	if t.place == 0 {
		return
	}
	i, last := int(t.place)-1, len(h.heap)-1
	t.place = 0
	if t.kind == wakeSchedule {
		h.cron--
	}
	moved := h.heap[last]
	h.heap[last] = booking{}
	if h.heap = h.heap[:last]; i == last {
		return
	}
	if i > 0 && moved.before(h.heap[(i-1)/4]) {
		h.rise(i, moved)
	} else {
		h.sink(i, moved)
	}
}

// next is when the earliest timer is due.
func (h *timers) next() (time.Time, bool) {
	if len(h.heap) == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(h.heap[0].due), true
}

// pop takes the earliest timer.
func (h *timers) pop() (sleeper, timerKind) {
	owner := h.heap[0].owner
	h.remove(owner)
	return owner, owner.timed().kind
}

// seq is the sequence of the timer of its owner, 0 for none.
func (h *timers) seq(owner sleeper) uint64 {
	if t := owner.timed(); t.place > 0 {
		return h.heap[t.place-1].seq
	}
	return 0
}

func (h *timers) put(i int, b booking) {
	h.heap[i] = b
	b.owner.timed().place = int32(i + 1)
}

// rise puts a booking at a free place, or above it.
func (h *timers) rise(i int, b booking) {
	for i > 0 && b.before(h.heap[(i-1)/4]) {
		h.put(i, h.heap[(i-1)/4])
		i = (i - 1) / 4
	}
	h.put(i, b)
}

// sink puts a booking at a free place, or below it.
func (h *timers) sink(i int, b booking) {
	for {
		least, earliest := i, b
		for c := 4*i + 1; c <= 4*i+4 && c < len(h.heap); c++ {
			if h.heap[c].before(earliest) {
				least, earliest = c, h.heap[c]
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
