package world

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
)

// Views returns the kind of reads of a list, by its name in steps, after a world of runs. A read has
// filters, by values of a row or by values that nobody has, and a size of its pages.
func Views(list string, of *World) *Kind {
	v := views[list]
	k := &Kind{Name: "a read of the " + list, normal: v.normal, basis: basisOfView, Rules: v.rules()}
	k.options = append(k.options, option{"row", "", make([]choice, spread)})
	for _, f := range v.filters {
		k.options = append(k.options, v.option(f))
	}
	sizes := []choice{{}}
	for _, n := range []int{50, 7, 2, 1} {
		sizes = append(sizes, choice{says: fmt.Sprintf("pages of %d", n), n: n, needs: v.section + ".count", requires: v.paged})
	}
	k.options = append(k.options, option{"pages", "in", sizes}, option{"reader", "by", []choice{{}, {says: "another account", needs: "drivers.account", basis: spec.Implied}}})
	rows := &seen{}
	k.run = func(w *World) error {
		w.s.Join(of.s)
		rows.Do(func() { v.look(w, of, rows) })
		return v.read(w, rows)
	}
	return k
}

// view is a list with its filters.
type view struct {
	operation, section string
	filters            []filter
	of                 func(*harness.Scenario, *Tale) ([]any, error) // the rows of a run
	times              func(*Tale, any) []int64                      // of a row, in Unix ms, which its dates may compare
	slack              int64                                         // how far from these times a time that it does not show may be
	long               bool                                          // small pages need a filter that few rows fit
	filtered           string                                        // the requirement of its filters
	dated, paged       string                                        // of dates, of pages
}

// spread is how many rows, all over the list, views take values of.
const spread = 40

// filter is a filter of a list: its binding, and where a row has the value.
type filter struct{ says, binding, pointer string }

// FilterOf returns the binding of a filter of a list, by their names in steps, and the pointer to its
// value in a row; that of the label is the binding fields.dlq.label.
func FilterOf(list, says string) (binding, pointer string) {
	for _, f := range views[list].filters {
		if f.says == says {
			return f.binding, f.pointer
		}
	}
	return "", ""
}

var views = map[string]*view{
	"dead letter queue": {
		operation: "listWorkflowDLQ", section: "dlq", slack: time.Hour.Milliseconds(),
		filters: []filter{
			{"run id", "run_id", "/workflowRunId"}, {"workflow url", "url", "/workflowUrl"}, {"response status", "response_status", "/responseStatus"},
			{"publisher", "caller_ip", "/callerIP"}, {"callback state", "callback_state", "/failureCallbackInfo/state"}, {"label", "label", "label"},
			{"start date", "from", ""}, {"end date", "to", ""},
		},
		of: func(s *harness.Scenario, y *Tale) ([]any, error) { return s.EntriesOf(y.ID) },
		times: func(y *Tale, row any) (all []int64) {
			for _, pointer := range []string{"/createdAt", "/workflowCreatedAt", "/notBefore"} {
				if t, ok := check.Integer(row, pointer); ok {
					all = append(all, t)
				}
			}
			if y == nil { // of another scenario
				return all
			}
			for _, e := range y.in("RUN_FAILED") {
				if t, ok := check.Integer(e, "/time"); ok {
					all = append(all, t)
				}
			}
			return all
		},
		filtered: "REQ-DLQ-008", dated: "REQ-DLQ-009", paged: "REQ-DLQ-003",
	},
	"message logs": {
		operation: "listWorkflowMessageLogs", section: "logs", long: true,
		filters: []filter{
			{"run id", "run_id", "/workflowRunId"}, {"workflow url", "url", "/workflowUrl"}, {"creation of the run", "created_at", "/workflowCreatedAt"},
			{"message id", "message_id", "/stepInfo/messageId"}, {"state", "state", "/state"}, {"start date", "from", ""}, {"end date", "to", ""},
		},
		of: func(_ *harness.Scenario, y *Tale) ([]any, error) { return y.Events, nil }, // also those before a restart
		times: func(_ *Tale, row any) []int64 {
			t, _ := check.Integer(row, "/time")
			return []int64{t}
		},
		filtered: "REQ-LOG-011", dated: "REQ-LOG-012", paged: "REQ-LOG-003",
	},
}

// What a filter has instead of the value of the row.
const (
	ofRow  = iota
	ofMost // of the other rows
	longer
	shorter
	otherCase
	nobodys
	exactly // of dates
	outside
	farAway
)

func (v *view) option(f filter) option {
	o := option{f.says, "filtered by", []choice{{}}}
	with := func(says string, n int, requires string) {
		o.choices = append(o.choices, choice{says: fmt.Sprintf(says, f.says), n: n, needs: v.section + "." + f.binding, requires: requires})
	}
	if f.pointer == "" {
		with("the %s of a row", exactly, v.dated)
		with("a %s just beyond a row", outside, v.dated)
		with("a %s an hour from a row", farAway, v.dated)
		return o
	}
	with("the %s of a row", ofRow, "")
	with("the %s of most other rows", ofMost, "")
	if f.pointer == "/callerIP" {
		with("a %s that nobody has", nobodys, "")
	}
	if slices.Contains([]string{"/workflowRunId", "/workflowUrl", "/stepInfo/messageId", "/state", "label"}, f.pointer) {
		with("the %s of a row with more behind it", longer, "")
		with("the %s of a row without its end", shorter, "")
		with("the %s of a row in another case", otherCase, "")
	}
	return o
}

// normal leaves one filter or two, of which one has a value that others have or nobody has, and large
// pages to what may have many rows. Which filters stay depends on the row, so that all pairs occur.
func (v *view) normal(t *Thing) {
	set := t.filters()
	if len(set) == 0 {
		t.Pick["row"] = 0
	}
	if t.Pick["pages"] > 0 {
		t.Pick["reader"] = 0 // one page shows enough
	}
	if t.Pick["reader"] > 0 { // what it knows of this account are values of rows
		for _, name := range set {
			t.Pick[name] = 1
		}
	}
	first, most, others := t.Pick["row"]%max(1, len(set)), 1+min(1, t.Pick["row"]%3), 0
	if t.Pick["row"]%4 == 3 && strings.HasSuffix(strings.Join(set, ""), "date") { // dates are the last filters, and some stay alone
		first, most = len(set)-1, 1
	}
	for i, name := range append(slices.Clone(set[first:]), set[:first]...) {
		if i >= most {
			t.Pick[name] = 0
		} else if t.Pick[name] > 1 {
			if others++; others > 1 {
				t.Pick[name] = 1
			}
		}
	}
	if v.long && !slices.ContainsFunc(t.filters(), fitsFew) {
		t.Pick["pages"] = min(t.Pick["pages"], 1)
	}
}

// filters are the names of the filters that are set.
func (t *Thing) filters() (names []string) {
	for _, name := range t.Set() {
		if name != "row" && name != "pages" && name != "reader" {
			names = append(names, name)
		}
	}
	return names
}

// basisOfView: the document does not say that two filters must both fit.
func basisOfView(t *Thing) spec.Basis {
	if len(t.filters()) > 1 {
		return spec.Implied
	}
	return spec.Stated
}

// Sight is what a read has listed, and what it must list.
type Sight struct {
	Fits, Items []any
	of          *seen
	times       map[string]int  // how often a row is listed, by its key
	Refused     *report.Failure // why there is no list; nil: there is one
	cut         bool            // the read was ended: it listed much more than fits
	query       map[string]string
	conditions  []condition
}

// list takes what was listed.
func (see *Sight) list(items []any) {
	see.Items, see.times = items, map[string]int{}
	for _, row := range items {
		see.times[see.of.key(row)]++
	}
}

// condition is a filter.
type condition struct {
	dated bool
	// judge reports whether a row fits for certain, whether it does not for certain, and what the row has.
	judge func(row any) (fits, not bool, has string)
}

// seen are the rows that a world of runs has left in a list.
type seen struct {
	sync.Once
	all   []any
	began int64 // before all of them, in Unix ms
	owner map[string]*Tale
	key   func(row any) string
	times map[string]int // how often a row is there, by its key
	err   error

	stranger string // the token of another account
}

// look reads the rows of a list, run by run.
func (v *view) look(w, of *World, to *seen) {
	var mu sync.Mutex
	byRun := map[string][]any{}
	to.owner, to.began, to.key, to.times = map[string]*Tale{}, math.MaxInt64, w.s.RowKey(v.section), map[string]int{}
	to.err = (&World{Lives: of.Lives}).each(func(l *Life) error {
		rows, err := v.of(w.s, l.Run)
		mu.Lock()
		defer mu.Unlock()
		byRun[l.Run.ID], to.owner[l.Run.ID] = rows, l.Run
		return err
	})
	for _, l := range of.Lives {
		for _, row := range byRun[l.Run.ID] {
			if state := text(row, "/state"); state != "" && !slices.Contains(check.RunStates, state) && !slices.Contains(check.MessageStates, state) {
				continue // the document does not name it
			}
			to.all, to.began = append(to.all, row), min(to.began, slices.Min(v.times(l.Run, row))-1)
			to.times[to.key(row)]++
		}
	}
}

// read reads a list with the filters of each life.
func (v *view) read(w *World, rows *seen) error {
	if rows.err != nil || len(rows.all) == 0 {
		w.Lives = nil
		return rows.err
	}
	if slices.ContainsFunc(w.Lives, func(l *Life) bool { return l.Pick["reader"] > 0 }) {
		stranger, err := w.s.Stranger()
		if err != nil {
			return err
		}
		rows.stranger = string(stranger.Bearer)
	}
	return w.each(func(l *Life) error {
		few := v.ask(w, l, rows)
		if l.Pick["reader"] > 0 {
			return v.strange(w, l, rows)
		}
		pages := 0
		listing, err := w.s.ReadList(v.operation, v.section, l.on("pages").n, l.View.query, func() error {
			if pages++; few && pages > len(l.View.Fits)+spare { // the others are not of this filter
				return errEnough
			}
			return nil
		})
		l.View.list(listing.Items)
		if l.View.cut = errors.Is(err, errEnough); l.View.cut || harness.EndlessCursor(err) {
			return nil
		}
		var judged bool
		if l.View.Refused, judged = err.(*report.Failure); judged { //nolint:errorlint // as it was made
			return nil
		}
		return err
	})
}

// strange reads a list with the filters of a life, by the credentials of another account.
func (v *view) strange(w *World, l *Life, rows *seen) error {
	query := url.Values{}
	for name, value := range l.View.query {
		query.Set(w.names(v.section, name), value)
	}
	a, err := w.s.Do(harness.Request{Operation: v.operation, Query: query, Token: rows.stranger})
	if err == nil {
		w.s.Looked(a.Exchange)
		items, _ := a.List(harness.ListField[v.operation]) // a refusal shows nothing
		l.View.list(items)
	}
	return err
}

// ask makes the query of a life, and says which rows fit. few reports whether it has a filter that few rows fit.
func (v *view) ask(w *World, l *Life, rows *seen) (few bool) {
	pointers := map[string]string{}
	for _, f := range v.filters {
		if pointers[f.says] = f.pointer; f.says == "label" {
			pointers[f.says] = "/" + w.names("fields.dlq", "label")
		}
	}
	see := &Sight{query: map[string]string{}, of: rows}
	l.View = see
	at := l.Pick["row"] * (len(rows.all) - 1) / spread
	from := append(slices.Clone(rows.all[at:]), rows.all[:at]...)
	row := from[max(0, slices.IndexFunc(from, func(row any) bool { // the first one with all values
		return !slices.ContainsFunc(l.filters(), func(name string) bool { return pointers[name] != "" && plain(row, pointers[name]) == "" })
	}))]
	times := func(row any) []int64 { return v.times(rows.owner[text(row, "/workflowRunId")], row) }
	for _, f := range v.filters {
		if l.Pick[f.says] == 0 {
			continue
		}
		if f.pointer == "" {
			t := v.edge(f.binding, l.on(f.says).n, times(row))
			see.query[f.binding] = strconv.FormatInt(t, 10)
			see.conditions = append(see.conditions, condition{true, func(row any) (fits, not bool, has string) {
				fits, not = v.within(f.binding, t, times(row))
				return fits, not, fmt.Sprint("times ", times(row))
			}})
		} else if value := valueOf(from, row, pointers[f.says], l.on(f.says).n); value != "" {
			few = few || fitsFew(f.says)
			see.query[f.binding] = value
			see.conditions = append(see.conditions, condition{false, func(row any) (fits, not bool, has string) {
				has = plain(row, pointers[f.says])
				return has == value, has != value, pointers[f.says] + " " + strconv.Quote(has)
			}})
		}
	}
	see.Fits = slices.DeleteFunc(slices.Clone(rows.all), func(row any) bool {
		return slices.ContainsFunc(see.conditions, func(c condition) bool { fits, _, _ := c.judge(row); return !fits })
	})
	if see.query["from"] == "" && !few && w.names(v.section, "from") != "" { // not what is older
		see.query["from"] = strconv.FormatInt(rows.began, 10)
	}
	if l.Pick["reader"] > 0 {
		see.Fits, see.conditions = nil, nil
	}
	return few
}

// errEnough ends a read that lists more than fits.
var errEnough = errors.New("more is listed than fits")

// spare is how many pages of a list may be empty.
const spare = 20

// fitsFew reports whether few rows fit a filter.
func fitsFew(filter string) bool {
	return slices.Contains([]string{"run id", "message id", "workflow url", "label"}, filter)
}

// valueOf is the value of a filter, made of that of a row; "" for none. from are all rows.
func valueOf(from []any, row any, pointer string, how int) string {
	value := plain(row, pointer)
	switch {
	case value == "":
		return ""
	case how == ofMost:
		n, most := map[string]int{}, value
		for _, row := range from {
			if v := plain(row, pointer); v != "" && v != value {
				if n[v]++; n[v] > n[most] {
					most = v
				}
			}
		}
		return most
	case how == longer && pointer == "/workflowUrl":
		return value + "?nobody=1"
	case how == longer:
		return value + "1"
	case how == shorter:
		return value[:len(value)-1]
	case how == otherCase:
		return strings.ToUpper(value)
	case how == nobodys:
		return "203.0.113.77"
	}
	return value
}

// edge is the value of a date: one that includes the row, the next one that does not, or one an hour away.
func (v *view) edge(binding string, how int, times []int64) int64 {
	first, last, out := slices.Min(times), slices.Max(times)+v.slack, int64(1)
	if binding == "to" {
		first, last, out = last, first, -1
	}
	return map[int]int64{exactly: first, outside: last + out, farAway: last + out*time.Hour.Milliseconds()}[how]
}

// within reports whether a date includes a row of such times for certain, and whether it excludes it.
func (v *view) within(binding string, t int64, times []int64) (in, out bool) {
	if len(times) == 0 {
		return false, false
	}
	low, high := slices.Min(times), slices.Max(times)+v.slack
	if binding == "from" {
		return low >= t, high < t
	}
	return high <= t, low > t
}

// plain is a value in a row as a filter has it, "" for none: a status of 0 is that of no answer.
func plain(row any, pointer string) string {
	v, _ := check.At(row, pointer)
	if text := harness.Plain(v); v != nil && (pointer != "/responseStatus" || text != "0") {
		return text
	}
	return ""
}

// rules are what must hold for each read.
func (v *view) rules() []*Rule {
	return []*Rule{
		{v.paged, spec.Stated, "nothing is listed twice", listsOnce},
		{v.filtered, spec.Stated, "everything is listed that fits the filters", listsAll(false)},
		{v.filtered, spec.Stated, "nothing is listed that the filters leave out", listsNoOther(false)},
		{v.dated, spec.Stated, "everything is listed that fits the dates", listsAll(true)},
		{v.dated, spec.Stated, "nothing is listed that the dates leave out", listsNoOther(true)},
		{"REQ-AUT-005", spec.Implied, "nothing is listed to another account", func(_ *World, l *Life, j *judging) {
			if l.Pick["reader"] > 0 {
				j.checked++
				for _, row := range l.View.Items {
					j.that(l.View.of.owner[text(row, "/workflowRunId")] == nil, "nothing of this account", harness.Shown(row))
				}
			}
		}},
	}
}

func listsOnce(_ *World, l *Life, j *judging) {
	see := l.View
	for _, row := range see.Fits {
		key := see.of.key(row)
		if once, n := see.of.times[key], see.times[key]; n > once {
			j.that(false, "as often as in the list of its run: "+strconv.Itoa(once), strconv.Itoa(n)+" times "+harness.Shown(row))
		}
		j.checked++
	}
}

// listsAll judges reads with dates alone, or all others.
func listsAll(dates bool) func(*World, *Life, *judging) {
	other := func(c condition) bool { return !c.dated }
	return func(_ *World, l *Life, j *judging) {
		see := l.View
		if see.cut || dates != (len(see.conditions) > 0 && !slices.ContainsFunc(see.conditions, other)) {
			return
		}
		if f := see.Refused; f != nil && len(see.Fits) > 0 {
			j.that(false, f.Want, f.Got)
		}
		for _, row := range see.Fits {
			if see.times[see.of.key(row)] == 0 {
				j.that(false, harness.Shown(row), fmt.Sprintf("%d rows without it for %v", len(see.Items), see.query))
			}
			j.checked++
		}
	}
}

func listsNoOther(dates bool) func(*World, *Life, *judging) {
	return func(_ *World, l *Life, j *judging) {
		for _, row := range l.View.Items {
			for _, c := range l.View.conditions {
				if c.dated != dates {
					continue
				}
				if _, not, has := c.judge(row); not {
					j.that(false, fmt.Sprint(l.View.query), has)
				}
				j.checked++
			}
		}
	}
}
