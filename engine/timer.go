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

// timer is an entry of the heap. Timers are never removed: what they wake
// remembers the sequence of its latest timer and ignores the others.
type timer struct {
	due     int64 // Unix ms
	seq     uint64
	kind    timerKind
	subject string
}

// timers is a 4-ary heap by due time, then by sequence. Values, not pointers,
// keep a million of them cheap.
type timers struct {
	heap   []timer
	issued uint64
	cron   int // how many of them belong to schedules
}

func (t timer) before(u timer) bool {
	return t.due < u.due || t.due == u.due && t.seq < u.seq
}

// add books a timer and returns its sequence, which is never 0.
func (h *timers) add(at time.Time, kind timerKind, subject string) uint64 {
	h.issued++
	if kind == wakeSchedule {
		h.cron++
	}
	h.heap = append(h.heap, timer{at.UnixMilli(), h.issued, kind, subject})
	for i := len(h.heap) - 1; i > 0; {
		parent := (i - 1) / 4
		if !h.heap[i].before(h.heap[parent]) {
			break
		}
		h.heap[i], h.heap[parent] = h.heap[parent], h.heap[i]
		i = parent
	}
	return h.issued
}

// next is when the earliest timer is due.
func (h *timers) next() (time.Time, bool) {
	if len(h.heap) == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(h.heap[0].due), true
}

// pop takes the earliest timer.
func (h *timers) pop() timer {
	top := h.heap[0]
	last := len(h.heap) - 1
	h.heap[0] = h.heap[last]
	h.heap[last] = timer{}
	h.heap = h.heap[:last]
	h.sink(0)
	if top.kind == wakeSchedule {
		h.cron--
	}
	return top
}

func (h *timers) sink(i int) {
	for {
		least := i
		for c := 4*i + 1; c <= 4*i+4 && c < len(h.heap); c++ {
			if h.heap[c].before(h.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.heap[i], h.heap[least] = h.heap[least], h.heap[i]
		i = least
	}
}
