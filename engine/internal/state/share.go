package state

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// Share is the part of an account's attempts that one host uses, or one URL of it. A URL may start
// another attempt while its attempts in flight, and those of its host, are together fewer than
// the places that are free. So no host ever has more than half of the places, nor one URL more
// than a quarter: a slow URL leaves places for the others of its host, and a slow host for other
// hosts. The account may limit them further.
type Share struct {
	Name    string
	Running int             // attempts in flight
	Held    FIFO[ReadyTurn] // of a URL: ready, but over the share
	Host    *Share          // of a URL; nil for a host
	waiting shareHeap       // of a host: its URLs with held turns, the one with the fewest attempts first
	since   uint64          // order of arrival among equal claims
	place   int             // index in a heap, while turns are held
}

// claim is what is compared with the number of free places.
func (h *Share) claim() int {
	if len(h.waiting) > 0 {
		return h.Running + h.waiting[0].Running
	}
	return h.Running
}

// Shares has the hosts and URLs with attempts in flight or held turns.
type Shares struct {
	hosts, urls map[string]*Share
	waiting     shareHeap // hosts with held turns, the one with the smallest claim first
	Turns       int       // number of held turns
	issued      uint64
}

// HostOf returns the host and port of a URL, in lower case.
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

// Of returns the share of a URL, which excludes the query.
func (s *Shares) Of(url string) *Share {
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	if u := s.urls[url]; u != nil {
		return u
	}
	host := HostOf(url)
	if h := s.hosts[host]; h != nil {
		return &Share{Name: url, Host: h}
	}
	return &Share{Name: url, Host: &Share{Name: host}}
}

// MayStart reports whether a URL may start an attempt while free places are left.
func (h *Share) MayStart(free int) bool { return h.Running+h.Host.Running < free }

// Hold keeps a turn until its URL may start it.
func (s *Shares) Hold(u *Share, t ReadyTurn) {
	if t.Key != nil {
		t.Under = u.Name
	}
	u.Held.Push(t)
	s.Turns++
	if u.Held.Len() == 1 {
		s.arrived(u)
		heap.Push(&u.Host.waiting, u)
		if len(u.Host.waiting) == 1 {
			s.arrived(u.Host)
			heap.Push(&s.waiting, u.Host)
		}
		s.changed(u)
	}
}

// arrived puts a share behind all that have the same claim.
func (s *Shares) arrived(h *Share) {
	s.issued++
	h.since = s.issued
}

// Next returns a held turn whose URL may start while free places are left. Its cost does not
// grow with the number of held turns.
func (s *Shares) Next(free int) (ReadyTurn, bool) {
	if len(s.waiting) == 0 || s.waiting[0].claim() >= free {
		return ReadyTurn{}, false
	}
	h := s.waiting[0]
	u := h.waiting[0]
	t := u.Held.Pop()
	t.Under = ""
	s.Turns--
	s.arrived(u)
	s.arrived(h)
	if u.Held.Len() == 0 {
		heap.Remove(&h.waiting, u.place)
	}
	if len(h.waiting) == 0 {
		heap.Remove(&s.waiting, h.place)
	}
	s.changed(u)
	return t, true
}

// Count changes by how many attempts a URL has in flight.
func (s *Shares) Count(u *Share, by int) {
	u.Running += by
	u.Host.Running += by
	s.changed(u)
}

// changed restores the order of the heaps after a change of a URL, and keeps it and its host
// only while they have attempts in flight or held turns.
func (s *Shares) changed(u *Share) {
	if u.Held.Len() > 0 {
		heap.Fix(&u.Host.waiting, u.place)
	}
	if len(u.Host.waiting) > 0 {
		heap.Fix(&s.waiting, u.Host.place)
	}
	if s.urls == nil {
		s.urls, s.hosts = map[string]*Share{}, map[string]*Share{}
	}
	keepShare(s.urls, u, u.Running > 0 || u.Held.Len() > 0)
	keepShare(s.hosts, u.Host, u.Host.Running > 0 || len(u.Host.waiting) > 0)
}

func keepShare(shares map[string]*Share, h *Share, used bool) {
	if used {
		shares[h.Name] = h
	} else {
		delete(shares, h.Name)
	}
}

// All calls visit for each held turn. Turns that are held again in this order start in the same
// order: hosts are compared with hosts, and URLs with those of their host.
func (s *Shares) All(visit func(ReadyTurn)) {
	var held []*Share
	for _, h := range s.waiting {
		held = append(held, h.waiting...)
	}
	slices.SortFunc(held, func(x, y *Share) int {
		return cmp.Or(cmp.Compare(x.Host.since, y.Host.since), cmp.Compare(x.since, y.since))
	})
	for _, u := range held {
		u.Held.All(visit)
	}
}

// shareHeap is a heap by claim, then by arrival.
type shareHeap []*Share

func (h shareHeap) Len() int { return len(h) }

func (h shareHeap) Less(i, j int) bool {
	x, y := h[i].claim(), h[j].claim()
	return x < y || x == y && h[i].since < h[j].since
}

// Swap updates the indexes that Fix and Remove need.
func (h shareHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *shareHeap) Push(x any) {
	s := x.(*Share) // Hold pushes nothing else
	s.place = len(*h)
	*h = append(*h, s)
}

// Pop implements heap.Interface.
func (h *shareHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// URL returns where a turn would start an attempt, "" when it would not.
func (t ReadyTurn) URL() string {
	if t.Under != "" {
		return t.Under
	}
	if m := t.front(); m != nil {
		return m.URL
	}
	return ""
}

// front returns the message that a turn would start, nil for none. It drops cancelled
// messages at the front of a key.
func (t ReadyTurn) front() *Message {
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
