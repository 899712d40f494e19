package engine

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// share is what one destination has of an account's attempts. A destination
// starts another attempt while it has fewer in flight than places are free. So
// none ever has more than half of the places, n busy ones come to have one in
// n+1 each, and some stay free for a destination that comes later. Of 256
// places, it takes eight destinations that never answer to fill them all.
type share struct {
	host    string
	running int        // attempts in flight
	held    fifo[turn] // ready, but beyond the share
	since   uint64     // order of arrival among those with the same number in flight
	place   int        // in the heap, while something is held
}

// shares are those of an account's destinations that have something in flight
// or held.
type shares struct {
	hosts   map[string]*share
	waiting shareHeap // those that hold something, the one with the fewest attempts first
	turns   int       // held by all of them
	issued  uint64
}

// hostOf is the destination of a URL as far as shares go: its host and port.
func hostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return strings.ToLower(rest[strings.LastIndexByte(rest, '@')+1:])
}

// of is the share of a message's destination.
func (s *shares) of(m *Message) *share {
	host := hostOf(m.URL)
	if h := s.hosts[host]; h != nil {
		return h
	}
	return &share{host: host}
}

// hold keeps a turn until its destination may start it.
func (s *shares) hold(h *share, t turn) {
	h.held.push(t)
	s.turns++
	if h.held.len() == 1 {
		s.issued++
		h.since = s.issued
		heap.Push(&s.waiting, h)
		s.tidy(h)
	}
}

// next gives back a held turn whose destination may start while free places are
// left. It costs the same however many turns and destinations wait.
func (s *shares) next(free int) (turn, bool) {
	if len(s.waiting) == 0 || s.waiting[0].running >= free {
		return turn{}, false
	}
	h := s.waiting[0]
	t := h.held.pop()
	s.turns--
	s.issued++
	h.since = s.issued
	if h.held.len() > 0 {
		heap.Fix(&s.waiting, h.place)
	} else {
		heap.Remove(&s.waiting, h.place)
		s.tidy(h)
	}
	return t, true
}

// count changes how many attempts a destination has in flight.
func (s *shares) count(h *share, by int) {
	h.running += by
	if h.held.len() > 0 {
		heap.Fix(&s.waiting, h.place)
	}
	s.tidy(h)
}

// tidy remembers a destination while it has something in flight or held.
func (s *shares) tidy(h *share) {
	switch {
	case h.running == 0 && h.held.len() == 0:
		delete(s.hosts, h.host)
	case s.hosts == nil:
		s.hosts = map[string]*share{h.host: h}
	default:
		s.hosts[h.host] = h
	}
}

// all visits the held turns.
func (s *shares) all(visit func(turn)) {
	for _, h := range slices.SortedFunc(slices.Values(s.waiting), func(x, y *share) int { return cmp.Compare(x.since, y.since) }) {
		h.held.all(visit)
	}
}

// shareHeap is a heap by attempts in flight, then by arrival.
type shareHeap []*share

func (h shareHeap) Len() int { return len(h) }

func (h shareHeap) Less(i, j int) bool {
	return h[i].running < h[j].running || h[i].running == h[j].running && h[i].since < h[j].since
}

func (h shareHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is for container/heap.
func (h *shareHeap) Push(x any) {
	s := x.(*share) //nolint:errcheck // hold pushes nothing else
	s.place = len(*h)
	*h = append(*h, s)
}

// Pop is for container/heap.
func (h *shareHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// waitingTurns is how many turns have not started.
func (a *Account) waitingTurns() int { return a.ready.len() + a.shares.turns }

// nextTurn is the oldest turn whose destination may start an attempt.
func (a *Account) nextTurn() (turn, bool) {
	free := a.cfg.Parallel - a.running
	for {
		t, ok := a.shares.next(free)
		if !ok {
			if a.ready.len() == 0 {
				return turn{}, false
			}
			t = a.ready.pop()
		}
		m := t.front()
		if m == nil {
			return t, true // nothing will start
		}
		h := a.shares.of(m)
		if h.running < free {
			return t, true
		}
		a.shares.hold(h, t)
	}
}

// front is the message that a turn is for, nil when it is for none.
func (t turn) front() *Message {
	if t.key == nil {
		return t.message
	}
	for t.key.waiting.len() > 0 {
		if m := t.key.waiting.items[t.key.waiting.head]; m.State != Canceled {
			return m
		}
		t.key.waiting.pop()
	}
	return nil
}
