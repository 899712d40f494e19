package engine

import (
	"cmp"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Filter selects what to list. Several values of one field: any matches; different fields:
// all must match (decided: 17, 18).
type Filter struct {
	IDs            []string // message ids
	DLQIDs         []string
	RunIDs         []string
	URLs           []string
	Hosts, Paths   []string // of the URL; for a run and its messages, the URL of the workflow
	RunURLs        []string
	Groups         []string
	Schedules      []string
	Queues         []string
	Labels         []string
	FlowKeys       []string
	CallerIPs      []string
	States         []string
	CallbackStates []string
	Statuses       []int
	From, To       time.Time // inclusive
	RunCreatedAt   time.Time
	Cursor         string
	Sort           string // a column, descending with a minus before it; "": newest first
	Count          int    // page size; 0: the default, which is the maximum
	URLPrefix      bool   // URLs and RunURLs are prefixes
	WorkflowOnly   bool
	MessagesOnly   bool
	Nothing        bool // matches nothing, whatever the other fields
	CountAll       bool // count the matching entries of all pages

	sets map[any]any // the lists as sets, by their first elements
}

// Page is a part of a list; an empty cursor means that it is the last page.
type Page[T any] struct {
	Items  []T
	Cursor string
	Counts map[string]int // with CountAll: the matching entries by state; of the DLQ by source
}

// count counts all entries that match, if the filter says so.
func count[E any](f *Filter, all iter.Seq[E], matches func(E) bool, of func(E) string) map[string]int {
	if !f.CountAll {
		return nil
	}
	counts := map[string]int{}
	for e := range all {
		if matches(e) {
			counts[of(e)]++
		}
	}
	return counts
}

// Check refuses an invalid filter.
func (f *Filter) Check() error {
	if f.Count < 0 {
		return refusal.OfValue("count", strconv.Itoa(f.Count), "", "an integer of 1 or more")
	}
	return nil
}

// Limit is the page size; a larger count means most.
func (f *Filter) Limit(most int) int {
	if f.Count == 0 {
		return most
	}
	return min(f.Count, most)
}

// listPage returns the matching entries of a list below the cursor, newest first.
func listPage[E state.Sequenced, T any](ids *state.IDs, list string, f Filter, most int,
	newest func(below state.Position) iter.Seq[E], matches func(E) bool, view func(E) T) (Page[T], error) {
	if err := f.Check(); err != nil {
		return Page[T]{}, err
	}
	below, err := ids.Position(list, f.Cursor)
	if err != nil {
		return Page[T]{}, err
	}
	p := Page[T]{}
	last := state.Position{}
	for e := range newest(below) {
		if !matches(e) {
			continue
		}
		if len(p.Items) == f.Limit(most) {
			p.Cursor = ids.Cursor(list, last)
			break
		}
		p.Items = append(p.Items, view(e))
		last = e.Position()
	}
	return p, nil
}

// isWanted reports whether want, a list of the filter, has v or is empty.
func isWanted[T cmp.Ordered](f *Filter, want []T, v T) bool {
	return len(want) == 0 || setOf(f, want, slices.Values(want))[v]
}

// setOf returns the values of a list of the filter as a set, which it builds only once: a request
// may name thousands of values, and each is compared with thousands of entries.
func setOf[T cmp.Ordered](f *Filter, list []T, values iter.Seq[T]) map[T]bool {
	set, ok := f.sets[&list[0]].(map[T]bool)
	if ok {
		return set
	}
	set = make(map[T]bool, len(list))
	for v := range values {
		set[v] = true
	}
	if f.sets == nil {
		f.sets = map[any]any{}
	}
	f.sets[&list[0]] = set
	return set
}

// isAnyWanted reports whether want has one of several labels or is empty.
func isAnyWanted(f *Filter, want []string, have []string) bool {
	return len(want) == 0 || slices.ContainsFunc(have, func(v string) bool { return isWanted(f, want, v) })
}

// wantedURL compares URLs as text: clients filter by the URL that they published to.
func (f *Filter) wantedURL(want []string, url string) bool {
	if isWanted(f, want, url) {
		return true
	}
	for i := range url {
		if f.URLPrefix && isWanted(f, want, url[:i]) {
			return true
		}
	}
	return false
}

// place matches the host and the path of a URL.
func (f *Filter) place(raw string) bool {
	if len(f.Hosts) == 0 && len(f.Paths) == 0 {
		return true
	}
	u, err := url.Parse(raw)
	if err != nil || len(f.Hosts) > 0 && !f.host(u) {
		return false
	}
	return isWanted(f, f.Paths, cmp.Or(u.EscapedPath(), "/")) || isWanted(f, f.Paths, cmp.Or(u.Path, "/"))
}

// host matches the host of a URL, with its port or without. The filter may have brackets around
// an IPv6 address.
func (f *Filter) host(u *url.URL) bool {
	set := setOf(f, f.Hosts, func(yield func(string) bool) {
		for _, h := range f.Hosts {
			if h = strings.ToLower(h); !yield(h) || !yield(strings.Trim(h, "[]")) {
				return
			}
		}
	})
	return set[strings.ToLower(u.Host)] || set[strings.ToLower(u.Hostname())]
}

// within reports whether a time is in the range of the filter. Every match needs it, so it
// checks Nothing too.
func (f *Filter) within(t time.Time) bool {
	return !f.Nothing && (f.From.IsZero() || !t.Before(f.From)) && (f.To.IsZero() || !t.After(f.To))
}

// MatchesMessage matches the fields of a message; at is the time to compare.
func (f *Filter) MatchesMessage(m *state.Message, at time.Time) bool {
	return f.within(at) &&
		isWanted(f, f.IDs, m.ID) &&
		f.wantedURL(f.URLs, m.URL) &&
		(m.RunID != "" && !m.Role.Conduct().ReportsFailed || f.place(m.URL)) && // for a message of a run, f.run compares the URL of the workflow
		isWanted(f, f.Groups, m.Group) &&
		isWanted(f, f.Schedules, m.ScheduleID) &&
		isWanted(f, f.Queues, m.Options.Queue) &&
		isAnyWanted(f, f.Labels, m.Options.Labels) &&
		isWanted(f, f.FlowKeys, m.FlowKey()) &&
		isWanted(f, f.CallerIPs, m.CallerIP)
}

// MatchesEntry matches a DLQ entry.
func (f *Filter) MatchesEntry(e *state.DLQEntry) bool {
	if e.Run == nil && (f.WorkflowOnly || len(f.RunIDs) > 0 || len(f.RunURLs) > 0) || e.Run != nil && f.MessagesOnly {
		return false
	}
	state := ""
	if e.Callback != nil {
		state = e.Callback.State
	}
	return isWanted(f, f.DLQIDs, e.ID) && isWanted(f, f.Statuses, e.Last.Status) && isWanted(f, f.CallbackStates, state) &&
		f.run(e.Run) && f.MatchesMessage(&e.Message, e.At)
}

// run matches the run of a message or event; nil for none.
func (f *Filter) run(r *state.RunRef) bool {
	if r == nil {
		return len(f.RunIDs) == 0 && len(f.RunURLs) == 0 && f.RunCreatedAt.IsZero()
	}
	return isWanted(f, f.RunIDs, r.ID) && f.wantedURL(f.RunURLs, r.URL) && f.place(r.URL) &&
		(f.RunCreatedAt.IsZero() || f.RunCreatedAt.Equal(r.CreatedAt))
}

// MatchesRun matches a run by its trigger, its messages and its state.
func (f *Filter) MatchesRun(r *state.Run) bool {
	return f.trigger(r) && f.within(r.CreatedAt) && isWanted(f, f.States, string(r.State)) && f.steps(r)
}

// trigger matches what the trigger of a run has set. No trigger sets a group or a schedule.
func (f *Filter) trigger(r *state.Run) bool {
	key := ""
	if r.Options.Flow != nil {
		key = r.Options.Flow.Key
	}
	return f.run(&r.RunRef) && f.wantedURL(f.URLs, r.URL) && isAnyWanted(f, f.Labels, r.Options.Labels) && isWanted(f, f.FlowKeys, key) &&
		isWanted(f, f.CallerIPs, r.CallerIP) && isWanted(f, f.Queues, r.Options.Queue) && isWanted(f, f.Groups, "") && isWanted(f, f.Schedules, "")
}

// steps matches the messages of the steps of a run.
func (f *Filter) steps(r *state.Run) bool {
	wanted := func(it *state.StepItem) bool { return isWanted(f, f.IDs, it.MessageID) }
	return len(f.IDs) == 0 || slices.ContainsFunc(r.Items, wanted) || slices.ContainsFunc(r.Open, wanted) || slices.ContainsFunc(slices.Collect(maps.Values(r.Calls)), wanted)
}
