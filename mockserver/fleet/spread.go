package fleet

import (
	"maps"
	"slices"
)

// spread computes what one server should do so that every account has a live owner,
// and the numbers of accounts of two servers differ by at most one.
//
// All servers compute it from the same buckets, so that they rarely claim the same
// account. If they do, the first server to write the entry of the owner gets it.
type spread struct {
	self    string
	members []string          // members that take accounts, sorted
	owner   map[string]string // by account; "" for none
	orphan  func(owner string) bool
}

// claims returns this server's share of the accounts without a live owner: each goes
// to the server with the fewest accounts.
func (s *spread) claims() []string {
	counts := s.counts()
	var own []string
	for _, id := range slices.Sorted(maps.Keys(s.owner)) {
		if !s.orphan(s.owner[id]) || len(s.members) == 0 {
			continue
		}
		to := s.fewest(counts)
		counts[to]++
		if to == s.self {
			own = append(own, id)
		}
	}
	return own
}

// gift returns an account of this server to give to another one; "" for none.
func (s *spread) gift() (account, to string) {
	counts := s.counts()
	to = s.fewest(counts)
	if to == "" || to == s.self || counts[s.self] != slices.Max(slices.Collect(maps.Values(counts))) || counts[s.self]-counts[to] < 2 {
		return "", ""
	}
	for _, id := range slices.Sorted(maps.Keys(s.owner)) {
		if s.owner[id] == s.self {
			return id, to
		}
	}
	return "", ""
}

// farewell returns the next owner of each account of this server when it leaves.
func (s *spread) farewell() map[string]string {
	counts, to := s.counts(), map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(s.owner)) {
		if s.owner[id] == s.self && len(s.members) > 0 {
			to[id] = s.fewest(counts)
			counts[to[id]]++
		}
	}
	return to
}

// counts returns the number of accounts of each member.
func (s *spread) counts() map[string]int {
	counts := map[string]int{}
	for _, m := range s.members {
		counts[m] = 0
	}
	for _, owner := range s.owner {
		if _, ok := counts[owner]; ok {
			counts[owner]++
		}
	}
	return counts
}

// fewest returns the first member with the fewest accounts; "" without members.
func (s *spread) fewest(counts map[string]int) string {
	best := ""
	for _, m := range s.members {
		if best == "" || counts[m] < counts[best] {
			best = m
		}
	}
	return best
}
