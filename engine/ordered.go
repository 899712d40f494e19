package engine

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// position is the place of an entry in a list: lists go by time, and by
// sequence within a millisecond.
type position struct {
	at  int64 // Unix ms
	seq uint64
}

// newestPosition is the position above all others.
var newestPosition = position{math.MaxInt64, math.MaxUint64}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.seq, q.seq))
}

// byPosition compares entries of a list.
func byPosition[E sequenced](x, y E) int { return x.position().compare(y.position()) }

// ordered is a list by position with look-up by id. Removing leaves a gap;
// gaps are closed when they outweigh what is left.
type ordered[E sequenced] struct {
	items []E
	ids   []string
	index map[string]int
}

func (o *ordered[E]) add(id string, e E) {
	if o.index == nil {
		o.index = map[string]int{}
	}
	o.index[id] = len(o.items)
	o.items, o.ids = append(o.items, e), append(o.ids, id)
}

// get is the entry with that id, the zero value for none.
func (o *ordered[E]) get(id string) (e E) {
	if i, ok := o.index[id]; ok {
		return o.items[i]
	}
	return e
}

func (o *ordered[E]) len() int { return len(o.index) }

func (o *ordered[E]) remove(id string) {
	var gap E
	i, ok := o.index[id]
	if !ok {
		return
	}
	delete(o.index, id)
	o.items[i] = gap
	if len(o.items) < 64 || 2*len(o.index) > len(o.items) {
		return
	}
	kept := ordered[E]{}
	for i, e := range o.items {
		if e != gap {
			kept.add(o.ids[i], e)
		}
	}
	*o = kept
}

// sort puts entries in their place that were added with a time in the past.
func (o *ordered[E]) sort() {
	type named struct {
		id    string
		entry E
	}
	all, sorted := make([]named, 0, len(o.index)), true
	for i, e := range o.items {
		if _, ok := o.index[o.ids[i]]; !ok || o.index[o.ids[i]] != i {
			continue
		}
		sorted = sorted && (len(all) == 0 || byPosition(all[len(all)-1].entry, e) < 0)
		all = append(all, named{o.ids[i], e})
	}
	if sorted {
		return
	}
	slices.SortFunc(all, func(x, y named) int { return byPosition(x.entry, y.entry) })
	*o = ordered[E]{}
	for _, one := range all {
		o.add(one.id, one.entry)
	}
}

// newestPosition walks from the newest entry below the given position to the oldest.
func (o *ordered[E]) newest(below position) iter.Seq[E] {
	return func(yield func(E) bool) {
		var gap E
		for i := o.start(below) - 1; i >= 0; i-- {
			if e := o.items[i]; e != gap && !yield(e) {
				return
			}
		}
	}
}

// start is the index of the first entry at or above the position.
func (o *ordered[E]) start(below position) int {
	var gap E
	lo, hi := 0, len(o.items)
	for lo < hi {
		mid := (lo + hi) / 2
		probe := mid
		for probe < hi && o.items[probe] == gap {
			probe++
		}
		switch {
		case probe == hi:
			hi = mid
		case o.items[probe].position().compare(below) < 0:
			lo = probe + 1
		default:
			hi = mid
		}
	}
	return lo
}
