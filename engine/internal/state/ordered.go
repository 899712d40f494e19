package state

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// Position is the place of an entry in a list. Lists are ordered by time, and within a
// millisecond by sequence number.
type Position struct {
	at  int64 // Unix ms
	seq uint64
}

// NewestPosition is the position above all others.
var NewestPosition = Position{math.MaxInt64, math.MaxUint64}

// At is the time of the entry in Unix ms.
func (p Position) At() int64 { return p.at }

// compare compares times first, because a fixture may add entries with a time in the past.
func (p Position) compare(q Position) int {
	return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.seq, q.seq))
}

// ByPosition compares entries of a list.
func ByPosition[E Sequenced](x, y E) int { return x.Position().compare(y.Position()) }

// Ordered is a list in the order of Position with look-up by id. Removing an entry leaves a
// gap; gaps are closed when at least half of the list is gaps.
type Ordered[E Sequenced] struct {
	Items []E
	ids   []string
	index map[string]int
}

// Add appends an entry. An entry that belongs elsewhere by its position needs a Sort.
func (o *Ordered[E]) Add(id string, e E) {
	if o.index == nil {
		o.index = map[string]int{}
	}
	o.index[id] = len(o.Items)
	o.Items, o.ids = append(o.Items, e), append(o.ids, id)
}

// Get returns the entry with the id, or the zero value.
func (o *Ordered[E]) Get(id string) (e E) {
	if i, ok := o.index[id]; ok {
		return o.Items[i]
	}
	return e
}

// Len is the number of entries, without gaps.
func (o *Ordered[E]) Len() int { return len(o.index) }

// Remove leaves a gap, so that the indexes of all other entries stay valid.
func (o *Ordered[E]) Remove(id string) {
	var gap E
	i, ok := o.index[id]
	if !ok {
		return
	}
	delete(o.index, id)
	o.Items[i] = gap
	if len(o.Items) < 64 || 2*len(o.index) > len(o.Items) {
		return
	}
	kept := Ordered[E]{}
	for i, e := range o.Items {
		if e != gap {
			kept.Add(o.ids[i], e)
		}
	}
	*o = kept
}

// Sort restores the order after entries with a time in the past were added.
func (o *Ordered[E]) Sort() {
	type named struct {
		id    string
		entry E
	}
	all, sorted := make([]named, 0, len(o.index)), true
	for i, e := range o.Items {
		if _, ok := o.index[o.ids[i]]; !ok || o.index[o.ids[i]] != i {
			continue
		}
		sorted = sorted && (len(all) == 0 || ByPosition(all[len(all)-1].entry, e) < 0)
		all = append(all, named{o.ids[i], e})
	}
	if sorted {
		return
	}
	slices.SortFunc(all, func(x, y named) int { return ByPosition(x.entry, y.entry) })
	*o = Ordered[E]{}
	for _, one := range all {
		o.Add(one.id, one.entry)
	}
}

// Newest yields the entries below the given position, newest first.
func (o *Ordered[E]) Newest(below Position) iter.Seq[E] {
	return func(yield func(E) bool) {
		var gap E
		for i := o.start(below) - 1; i >= 0; i-- {
			if e := o.Items[i]; e != gap && !yield(e) {
				return
			}
		}
	}
}

// start returns the index of the first entry at or above the position.
func (o *Ordered[E]) start(below Position) int {
	var gap E
	lo, hi := 0, len(o.Items)
	for lo < hi {
		mid := (lo + hi) / 2
		probe := mid
		for probe < hi && o.Items[probe] == gap {
			probe++
		}
		switch {
		case probe == hi:
			hi = mid
		case o.Items[probe].Position().compare(below) < 0:
			lo = probe + 1
		default:
			hi = mid
		}
	}
	return lo
}
