package harness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/report"
)

// Listing is a list that was read page by page.
type Listing struct {
	Operation string
	Pages     [][]any // items of each page
	Items     []any
	Cursors   []string // cursor of each page; "-" for none
	Responses []*Response
	Fits      func(any) error // judges whether an item matches the filter
}

// ListField is the field of the answer that contains the list, by operation.
var ListField = map[string]string{"listWorkflowDLQ": "messages", "listWorkflowMessageLogs": "events"}

// MaxPages limits the pages of a list, in case its cursor never ends.
const MaxPages = 3000

// ReadList reads a list to its end. filters has values by the names of their bindings; a
// filter that is not bound is an error. between is called after each page except the last.
func (s *Scenario) ReadList(op, section string, size int, filters map[string]string, between ...func() error) (Listing, error) {
	l := Listing{Operation: op}
	wanted, query := maps.Collect(maps.All(filters)), map[string][]string{}
	if size > 0 {
		wanted["count"] = strconv.Itoa(size)
	}
	for name, v := range wanted {
		param, err := s.Binding(section, name)
		if err != nil {
			return l, err
		}
		query[param] = []string{v}
	}
	for range MaxPages {
		a, err := s.Demand(Request{Operation: op, Query: query})
		if err != nil {
			return l, err
		}
		items, err := a.List(ListField[op])
		if err != nil {
			return l, err
		}
		cursor, has := check.Text(a.JSON, "/cursor")
		if !has {
			cursor = "-"
		}
		l.Pages, l.Items, l.Cursors, l.Responses = append(l.Pages, items), append(l.Items, items...), append(l.Cursors, cursor), append(l.Responses, a)
		if cursor == "-" || cursor == "" {
			return l, nil
		}
		if slices.Contains(l.Cursors[:len(l.Cursors)-1], cursor) {
			return l, a.Fails("/cursor", "the cursor repeats, so the list never ends", "another cursor, or none", cursor)
		}
		param, err := s.Binding(section, "cursor")
		if err != nil {
			return l, err
		}
		query[param] = []string{cursor}
		for _, f := range between {
			if err := f(); err != nil {
				return l, err
			}
		}
	}
	return l, s.FailureOf(&l, "the list does not end", fmt.Sprintf("at most %d pages", MaxPages), "more")
}

// EndlessCursor reports whether err says only that the cursor repeats. The items are then
// complete: only scenarios about cursors fail.
func EndlessCursor(err error) bool {
	f, ok := err.(*report.Failure) //nolint:errorlint // as it was made
	return ok && f.Pointer == "/cursor"
}

// ListedOnce requires that each wanted item is in a list exactly once; key identifies an item.
func (s *Scenario) ListedOnce(l *Listing, want []any, key func(any) string) error {
	seen := map[string]int{}
	for _, item := range l.Items {
		seen[key(item)]++
	}
	for _, item := range want {
		if n := seen[key(item)]; n != 1 {
			return s.FailureOf(l, "an item of the list was seen "+strconv.Itoa(n)+" times", "each exactly once", Shown(item))
		}
	}
	return nil
}

// RowKey returns a function that identifies an event, or an entry, by its documented fields: others may
// differ at each reading, and so may the outcome of a failure callback.
func (s *Scenario) RowKey(list string) func(row any) string {
	var pointers []string
	add := func(prefix, section string, fields ...check.Field) {
		for _, f := range fields {
			if f.Name != "failureCallbackInfo" {
				pointers = append(pointers, prefix+f.Name)
			}
		}
		for name, field := range s.Suite.Target.Bindings.Fields[section] {
			if name != "callback_request_headers" {
				pointers = append(pointers, prefix+field)
			}
		}
	}
	if list == "dlq" {
		add("/", list, slices.Concat(check.EntryFields, check.EntryHeaders)...)
	} else {
		add("/", "log", check.EventFields...)
		add("/stepInfo/", "step", check.StepFields...)
	}
	slices.Sort(pointers)
	return func(row any) string {
		var key strings.Builder
		for _, pointer := range pointers {
			v, has := check.At(row, pointer)
			fmt.Fprintf(&key, "%s=%v %s\n", pointer, has, Plain(v))
		}
		return key.String()
	}
}

// EventsOf returns the events of a run, in the order of the list.
func (s *Scenario) EventsOf(run string) ([]any, error) {
	l, err := s.ReadList("listWorkflowMessageLogs", "logs", 0, map[string]string{"run_id": run})
	if err != nil && !EndlessCursor(err) {
		return nil, err
	}
	return l.Of(run), nil
}

// Of returns the items of a run.
func (l *Listing) Of(run string) (own []any) {
	for _, item := range l.Items {
		if id, _ := check.Text(item, "/workflowRunId"); id == run {
			own = append(own, item)
		}
	}
	return own
}

// EntriesOf returns the entries of a run in the dead letter queue.
func (s *Scenario) EntriesOf(run string) ([]any, error) {
	filters := map[string]string{}
	if s.Bound("dlq", "run_id") != "" {
		filters["run_id"] = run
	}
	l, err := s.ReadList("listWorkflowDLQ", "dlq", 0, filters)
	if err != nil && !EndlessCursor(err) {
		return nil, err
	}
	s.mu.Lock() // several entries may be read at once
	defer s.mu.Unlock()
	s.Asked = l.Responses[0]
	return l.Of(run), nil
}
