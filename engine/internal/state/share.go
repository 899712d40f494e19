package state

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// HostShare is what one destination has of an account's attempts. A destination
// starts another attempt while it has fewer in flight than places are free. So
// none ever has more than half of the places, n busy ones come to have one in
// n+1 each, and some stay free for a destination that comes later. Of 256
// places, it takes eight destinations that never answer to fill them all.
type HostShare struct {
	Host    string
	Running int             // attempts in flight
	Held    FIFO[ReadyTurn] // ready, but beyond the share
	since   uint64          // order of arrival among those with the same number in flight
	place   int             // in the heap, while something is held
}

// HostShares are those of an account's destinations that have something in flight
// or held.
type HostShares struct {
	Hosts   map[string]*HostShare
	waiting shareHeap // those that hold something, the one with the fewest attempts first
	Turns   int       // held by all of them
	issued  uint64
}

// HostOf is the destination of a URL as far as shares go: its host and port.
func HostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return strings.ToLower(rest[strings.LastIndexByte(rest, '@')+1:])
}

// Of is the share of a message's destination.
func (s *HostShares) Of(m *Message) *HostShare {
	host := HostOf(m.URL)
	if h := s.Hosts[host]; h != nil {
		return h
	}
	return &HostShare{Host: host}
}

// Hold keeps a turn until its destination may start it.
func (s *HostShares) Hold(h *HostShare, t ReadyTurn) {
	h.Held.Push(t)
	s.Turns++
	if h.Held.Len() == 1 {
		s.issued++
		h.since = s.issued
		heap.Push(&s.waiting, h)
		s.tidy(h)
	}
}

// Next gives back a held turn whose destination may start while free places are
// left. It costs the same however many turns and destinations wait.
func (s *HostShares) Next(free int) (ReadyTurn, bool) {
	if len(s.waiting) == 0 || s.waiting[0].Running >= free {
		return ReadyTurn{}, false
	}
	h := s.waiting[0]
	t := h.Held.Pop()
	s.Turns--
	s.issued++
	h.since = s.issued
	if h.Held.Len() > 0 {
		heap.Fix(&s.waiting, h.place)
	} else {
		heap.Remove(&s.waiting, h.place)
		s.tidy(h)
	}
	return t, true
}

// Count changes how many attempts a destination has in flight.
func (s *HostShares) Count(h *HostShare, by int) {
	h.Running += by
	if h.Held.Len() > 0 {
		heap.Fix(&s.waiting, h.place)
	}
	s.tidy(h)
}

// tidy remembers a destination while it has something in flight or held.
func (s *HostShares) tidy(h *HostShare) {
	switch {
	case h.Running == 0 && h.Held.Len() == 0:
		delete(s.Hosts, h.Host)
	case s.Hosts == nil:
		s.Hosts = map[string]*HostShare{h.Host: h}
	default:
		s.Hosts[h.Host] = h
	}
}

// All visits the held turns.
func (s *HostShares) All(visit func(ReadyTurn)) {
	for _, h := range slices.SortedFunc(slices.Values(s.waiting), func(x, y *HostShare) int { return cmp.Compare(x.since, y.since) }) {
		h.Held.All(visit)
	}
}

// shareHeap is a heap by attempts in flight, then by arrival.
type shareHeap []*HostShare

func (h shareHeap) Len() int { return len(h) }

func (h shareHeap) Less(i, j int) bool {
	return h[i].Running < h[j].Running || h[i].Running == h[j].Running && h[i].since < h[j].since
}

// Swap keeps the places that the shares know, for Fix and Remove.
func (h shareHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is for container/heap.
func (h *shareHeap) Push(x any) {
	s := x.(*HostShare) //nolint:errcheck // hold pushes nothing else
	s.place = len(*h)
	*h = append(*h, s)
}

// Pop is for container/heap.
func (h *shareHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Front is the message that a turn is for, nil when it is for none.
func (t ReadyTurn) Front() *Message {
	if t.Key == nil {
		return t.Message
	}
	for t.Key.Held.Len() > 0 {
		if m := t.Key.Held.Items[t.Key.Held.Head]; m.State != Canceled {
			return m
		}
		t.Key.Held.Pop()
	}
	return nil
}

// WaitingTurns is how many turns have not started.
func (s *State) WaitingTurns() int { return s.Ready.Len() + s.Shares.Turns }
