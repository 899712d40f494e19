package engine

import "iter"

// ordered is a list by sequence with look-up by id. Removing leaves a gap;
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

// newest walks from the newest entry below the given sequence to the oldest.
func (o *ordered[E]) newest(below uint64) iter.Seq[E] {
	return func(yield func(E) bool) {
		var gap E
		for i := o.start(below) - 1; i >= 0; i-- {
			if e := o.items[i]; e != gap && !yield(e) {
				return
			}
		}
	}
}

// start is the index of the first entry at or above the sequence.
func (o *ordered[E]) start(below uint64) int {
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
		case o.items[probe].sequence() < below:
			lo = probe + 1
		default:
			hi = mid
		}
	}
	return lo
}
