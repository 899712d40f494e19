package engine

import (
	"cmp"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// maxBulk is how many messages one bulk cancel takes.
const maxBulk = 10000

// Filter says what to list. Several values of one field: any matches;
// different fields: all must match (decided: 17, 18).
type Filter struct {
	IDs            []string // message ids
	DLQIDs         []string
	RunIDs         []string
	URLs           []string
	Hosts, Paths   []string // of the URL: of the workflow, for what belongs to a run
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
	Count          int  // 0: the default, which is the maximum
	URLPrefix      bool // URLs and RunURLs are prefixes
	WorkflowOnly   bool
	MessagesOnly   bool
	Nothing        bool // matches nothing, whatever else is said
	CountAll       bool // the page of the DLQ says how many entries match, on all pages
}

// Page is a part of a list; an empty cursor means that it was the last.
type Page[T any] struct {
	Items  []T
	Cursor string
	All    int // of the DLQ, with CountAll
}

// check refuses a filter that makes no sense.
func (f *Filter) check() error {
	if f.Count < 0 {
		return refusal.OfValue("count", strconv.Itoa(f.Count), "", "an integer from 1 up")
	}
	return nil
}

// limit is the size of a page: a larger count is read as the most.
func (f *Filter) limit(most int) int {
	if f.Count == 0 {
		return most
	}
	return min(f.Count, most)
}

// listPage walks a list from the newest, below the cursor, and takes what matches.
func listPage[E state.Sequenced, T any](a *Account, list string, f Filter, most int,
	newest func(below state.Position) iter.Seq[E], matches func(E) bool, view func(E) T) (Page[T], error) {
	if err := f.check(); err != nil {
		return Page[T]{}, err
	}
	below, err := a.state.IDs.Position(list, f.Cursor)
	if err != nil {
		return Page[T]{}, err
	}
	p := Page[T]{}
	last := state.Position{}
	for e := range newest(below) {
		if !matches(e) {
			continue
		}
		if len(p.Items) == f.limit(most) {
			p.Cursor = a.state.IDs.Cursor(list, last)
			break
		}
		p.Items = append(p.Items, view(e))
		last = e.Position()
	}
	return p, nil
}

// isWanted reports whether v is among the wanted values, or nothing is wanted.
func isWanted[T comparable](want []T, v T) bool {
	return len(want) == 0 || slices.Contains(want, v)
}

func isAnyWanted(want []string, have []string) bool {
	if len(want) == 0 {
		return true
	}
	return slices.ContainsFunc(have, func(v string) bool { return slices.Contains(want, v) })
}

func (f *Filter) wantedURL(want []string, url string) bool {
	if len(want) == 0 {
		return true
	}
	return slices.ContainsFunc(want, func(w string) bool {
		return w == url || f.URLPrefix && strings.HasPrefix(url, w)
	})
}

// place matches the host and the path of a URL.
func (f *Filter) place(raw string) bool {
	if len(f.Hosts) == 0 && len(f.Paths) == 0 {
		return true
	}
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := func(want string) bool {
		return strings.EqualFold(want, u.Host) || strings.EqualFold(strings.Trim(want, "[]"), u.Hostname())
	}
	path := func(want string) bool { return want == cmp.Or(u.EscapedPath(), "/") || want == cmp.Or(u.Path, "/") }
	return (len(f.Hosts) == 0 || slices.ContainsFunc(f.Hosts, host)) && (len(f.Paths) == 0 || slices.ContainsFunc(f.Paths, path))
}

// within matches the time that counts; whatever is matched has one.
func (f *Filter) within(t time.Time) bool {
	return !f.Nothing && (f.From.IsZero() || !t.Before(f.From)) && (f.To.IsZero() || !t.After(f.To))
}

// message matches what a message itself says; at is the time that counts.
func (f *Filter) message(m *Message, at time.Time) bool {
	return f.within(at) &&
		isWanted(f.IDs, m.ID) &&
		f.wantedURL(f.URLs, m.URL) &&
		(m.RunID != "" && !m.Role.Conduct().ReportsFailed || f.place(m.URL)) && // of a run, the URL of the workflow counts
		isWanted(f.Groups, m.Group) &&
		isWanted(f.Schedules, m.ScheduleID) &&
		isWanted(f.Queues, m.Options.Queue) &&
		isAnyWanted(f.Labels, m.Options.Labels) &&
		isWanted(f.FlowKeys, m.FlowKey()) &&
		isWanted(f.CallerIPs, m.CallerIP)
}

// entry matches a DLQ entry.
func (f *Filter) entry(e *DLQEntry) bool {
	if e.Run == nil && (f.WorkflowOnly || len(f.RunIDs) > 0 || len(f.RunURLs) > 0) || e.Run != nil && f.MessagesOnly {
		return false
	}
	state := ""
	if e.Callback != nil {
		state = e.Callback.State
	}
	return isWanted(f.DLQIDs, e.ID) && isWanted(f.Statuses, e.Last.Status) && isWanted(f.CallbackStates, state) &&
		f.run(e.Run) && f.message(&e.Message, e.At)
}

// run matches the run that something belongs to.
func (f *Filter) run(r *RunRef) bool {
	if r == nil {
		return len(f.RunIDs) == 0 && len(f.RunURLs) == 0 && f.RunCreatedAt.IsZero()
	}
	return isWanted(f.RunIDs, r.ID) && f.wantedURL(f.RunURLs, r.URL) && f.place(r.URL) &&
		(f.RunCreatedAt.IsZero() || f.RunCreatedAt.Equal(r.CreatedAt))
}

// sortedMessages is in order of creation.
func sortedMessages(all map[string]*Message) []*Message {
	list := make([]*Message, 0, len(all))
	for _, m := range all {
		list = append(list, m)
	}
	slices.SortFunc(list, func(x, y *Message) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	return list
}
