package state

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// HostShare is the part of an account's attempts that one destination uses. A destination
// may start another attempt while it has fewer in flight than places are free. So no
// destination ever has more than half of the places, n busy ones converge to one in n+1
// each, and some places stay free for a new one. Of 256 places, it takes eight destinations
// that never answer to fill them all. The account may limit a destination further.
type HostShare struct {
	Host    string
	Running int             // attempts in flight
	Held    FIFO[ReadyTurn] // ready, but over the share
	since   uint64          // order of arrival among destinations with equal Running
	place   int             // index in the heap, while turns are held
}

// HostShares has the destinations with attempts in flight or held turns.
type HostShares struct {
	Hosts   map[string]*HostShare
	waiting shareHeap // destinations with held turns, the one with the fewest attempts first
	Turns   int       // number of held turns
	issued  uint64
}

// HostOf returns the destination of a URL: its host and port in lower case.
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

// Of returns the share of a message's destination.
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

// Next returns a held turn whose destination may start while free places are left. Its cost
// does not grow with the number of held turns.
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

// Count changes by how many attempts a destination has in flight.
func (s *HostShares) Count(h *HostShare, by int) {
	h.Running += by
	if h.Held.Len() > 0 {
		heap.Fix(&s.waiting, h.place)
	}
	s.tidy(h)
}

// tidy keeps a destination in Hosts only while it has attempts in flight or held turns.
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

// All calls visit for each held turn.
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

// Swap updates the indexes that Fix and Remove need.
func (h shareHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *shareHeap) Push(x any) {
	s := x.(*HostShare) //nolint:errcheck // hold pushes nothing else
	s.place = len(*h)
	*h = append(*h, s)
}

// Pop implements heap.Interface.
func (h *shareHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Front returns the message that a turn would start, nil for none. It drops cancelled
// messages at the front of a key.
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

// WaitingTurns is the number of turns that have not started.
func (s *State) WaitingTurns() int { return s.Ready.Len() + s.Shares.Turns }
