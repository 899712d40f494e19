package engine

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// sortKey is the value by which a list is sorted. Entries with a missing value come last in
// both directions.
type sortKey struct {
	missing bool
	number  int64
	text    string
}

func (k sortKey) compare(l sortKey) int {
	return cmp.Or(cmp.Compare(k.number, l.number), cmp.Compare(k.text, l.text))
}

func keyOfText(text string) sortKey { return sortKey{missing: text == "", text: text} }

func keyOfNumber(n int) sortKey { return sortKey{number: int64(n)} }

func keyOfTime(t time.Time) sortKey {
	return sortKey{missing: t.IsZero(), number: t.UnixMilli()}
}

// sorting has the sort keys of a list by the name of the column.
type sorting[E any] map[string]func(E) sortKey

var messageSorting = sorting[*state.LogEntry]{
	"attempts": func(e *state.LogEntry) sortKey { return keyOfNumber(e.Message.Attempts()) },
	"bytes": func(e *state.LogEntry) sortKey {
		return keyOfNumber(len(e.Message.Body) + int(e.Message.Dropped))
	},
	"cause":     func(e *state.LogEntry) sortKey { return keyOfText(e.Message.Cause()) },
	"createdAt": func(e *state.LogEntry) sortKey { return keyOfTime(e.Message.CreatedAt.Time()) },
	"label": func(e *state.LogEntry) sortKey {
		return keyOfText(strings.Join(e.Message.Options.Labels, " "))
	},
	"messageId": func(e *state.LogEntry) sortKey { return keyOfText(e.Message.ID) },
	"next":      func(e *state.LogEntry) sortKey { return nextAttempt(e.Message) },
	"state":     func(e *state.LogEntry) sortKey { return keyOfText(string(e.Message.State)) },
	"url":       func(e *state.LogEntry) sortKey { return keyOfText(e.Message.URL) },
}

// nextAttempt is missing unless the message waits for a time: NextAt may be past, when a
// queue or a flow-control key holds the message.
func nextAttempt(m *state.Message) sortKey {
	if !m.Planned() {
		return sortKey{missing: true}
	}
	return keyOfTime(m.NextAt.Time())
}

// runSorting is a method: some keys depend on more than the run.
func (a *Account) runSorting() sorting[*state.Run] {
	return sorting[*state.Run]{
		"attempts": func(r *state.Run) sortKey {
			m, _ := a.runMessage(r)
			if m == nil {
				return sortKey{missing: true}
			}
			return sortKey{number: int64(m.Attempts())}
		},
		"cause":     func(r *state.Run) sortKey { return keyOfText(r.Cause) },
		"createdAt": func(r *state.Run) sortKey { return keyOfTime(r.CreatedAt) },
		"duration": func(r *state.Run) sortKey {
			end := r.EndedAt
			if end.IsZero() {
				end = a.state.Now
			}
			return sortKey{number: int64(end.Sub(r.CreatedAt))}
		},
		"label": func(r *state.Run) sortKey { return keyOfText(strings.Join(r.Options.Labels, " ")) },
		"next": func(r *state.Run) sortKey {
			if r.Ended() {
				return sortKey{missing: true}
			}
			return keyOfTime(a.explainRun(r)[0].Until)
		},
		"state":         func(r *state.Run) sortKey { return keyOfText(string(r.State)) },
		"url":           func(r *state.Run) sortKey { return keyOfText(r.URL) },
		"workflowRunId": func(r *state.Run) sortKey { return keyOfText(r.ID) },
	}
}

var entrySorting = sorting[*state.DLQEntry]{
	"attempts": func(e *state.DLQEntry) sortKey { return keyOfNumber(e.Message.Attempts()) },
	"cause":    func(e *state.DLQEntry) sortKey { return keyOfText(e.Message.CauseOf(&e.Last)) },
	"dlqId":    func(e *state.DLQEntry) sortKey { return keyOfText(e.ID) },
	"failedAt": func(e *state.DLQEntry) sortKey { return keyOfTime(e.At) },
	"label": func(e *state.DLQEntry) sortKey {
		return keyOfText(strings.Join(e.Message.Options.Labels, " "))
	},
	"responseStatus": func(e *state.DLQEntry) sortKey {
		return sortKey{missing: e.Last.Status == 0, number: int64(e.Last.Status)}
	},
	"url": func(e *state.DLQEntry) sortKey { return keyOfText(e.Message.URL) },
}

// order is the order of a page: by key, then newest first.
type order[E state.Sequenced] struct {
	key     func(E) sortKey
	reverse bool
}

// placed is an entry with its key.
type placed[E state.Sequenced] struct {
	entry E
	key   sortKey
}

// named returns the sort key for a column; a minus before the name reverses the order.
func (s sorting[E]) named(name string) (key func(E) sortKey, reverse bool, err error) {
	plain, reverse := strings.CutPrefix(name, "-")
	if key = s[plain]; key == nil {
		return nil, false, refusal.OfValue("sort", name, "", "one of "+strings.Join(slices.Sorted(maps.Keys(s)), ", ")+", with a minus before it for the reverse order")
	}
	return key, reverse, nil
}

func (o order[E]) compare(x, y placed[E]) int {
	switch {
	case x.key.missing != y.key.missing && x.key.missing:
		return 1
	case x.key.missing != y.key.missing:
		return -1
	case o.reverse:
		return cmp.Or(y.key.compare(x.key), state.ByPosition(y.entry, x.entry))
	}
	return cmp.Or(x.key.compare(y.key), state.ByPosition(y.entry, x.entry))
}

// first returns the first matching entries after behind in the order, at most most; nil means
// from the beginning. It keeps only this many entries in memory, however long the list is.
func (o order[E]) first(all iter.Seq[E], matches func(E) bool, behind *placed[E], most int) []placed[E] {
	var page []placed[E]
	for e := range all {
		if !matches(e) {
			continue
		}
		p := placed[E]{e, o.key(e)}
		if behind != nil && o.compare(p, *behind) <= 0 || len(page) == most && o.compare(p, page[most-1]) >= 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(page, p, o.compare)
		page = slices.Insert(page, i, p)
		page = page[:min(len(page), most)]
	}
	return page
}

// sortedPage is List in the order of the filter, over the whole list. The cursor is valid for
// that order only and refers to the last entry shown, by its current place.
func sortedPage[E state.Sequenced, T any](a *Account, list string, f Filter, most int, by sorting[E],
	newest func(below state.Position) iter.Seq[E], matches func(E) bool, view func(E) T) (Page[T], error) {
	if f.Sort == "" {
		return listPage(&a.state.IDs, list, f, most, newest, matches, view)
	}
	if err := f.Check(); err != nil {
		return Page[T]{}, err
	}
	key, reverse, err := by.named(f.Sort)
	if err != nil {
		return Page[T]{}, err
	}
	list += " by " + f.Sort
	at, err := a.state.IDs.Position(list, f.Cursor)
	if err != nil {
		return Page[T]{}, err
	}
	o := order[E]{key, reverse}
	all := newest(state.NewestPosition)
	var behind *placed[E]
	if f.Cursor != "" {
		if behind = o.find(all, at); behind == nil {
			return Page[T]{}, refusal.OfValue("cursor", f.Cursor, "its entry is gone", "the cursor of a page of the list as it is now")
		}
	}
	found := o.first(all, matches, behind, f.Limit(most)+1)
	p := Page[T]{}
	if n := f.Limit(most); len(found) > n {
		found = found[:n]
		p.Cursor = a.state.IDs.Cursor(list, found[n-1].entry.Position())
	}
	for _, e := range found {
		p.Items = append(p.Items, view(e.entry))
	}
	return p, nil
}

// find returns the entry at a position, nil for none.
func (o order[E]) find(all iter.Seq[E], at state.Position) *placed[E] {
	for e := range all {
		if e.Position() == at {
			return &placed[E]{e, o.key(e)}
		}
	}
	return nil
}
