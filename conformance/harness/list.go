package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/report"
)

// Listing is what a list operation answered, page after page.
type Listing struct {
	Operation string
	pages     [][]any
	Items     []any
	Cursors   []string // that of each page; "-" for none
	Responses []*Response
	Fits      func(any) bool // what a filter asked for
}

// ListField is the field of a list operation's answer.
var ListField = map[string]string{"listWorkflowDLQ": "messages", "listWorkflowMessageLogs": "events"}

// MaxPages guards against a cursor that never ends.
const MaxPages = 3000

// ReadList reads a list to its end. filters are by the names of the bindings; those
// that are not bound cannot be used. between runs after each page.
func (s *Scenario) ReadList(op, section string, size int, filters map[string]string, between ...func() error) (Listing, error) {
	l := Listing{Operation: op}
	query := map[string][]string{}
	for name, v := range filters {
		param, err := s.Binding(section, name)
		if err != nil {
			return l, err
		}
		query[param] = []string{v}
	}
	if size > 0 {
		param, err := s.Binding(section, "count")
		if err != nil {
			return l, err
		}
		query[param] = []string{strconv.Itoa(size)}
	}
	for range MaxPages {
		a, err := s.Do(Request{Operation: op, Query: query})
		if err != nil {
			return l, err
		}
		if err := a.Accepted(); err != nil {
			return l, err
		}
		list, ok := check.At(a.JSON, "/"+ListField[op])
		items, isArray := list.([]any)
		if !ok || !isArray {
			return l, a.Fails("/"+ListField[op], "the list is no array", "an array", check.KindOf(list))
		}
		cursor, has := check.Text(a.JSON, "/cursor")
		if !has {
			cursor = "-"
		}
		l.pages, l.Items, l.Cursors, l.Responses = append(l.pages, items), append(l.Items, items...), append(l.Cursors, cursor), append(l.Responses, a)
		if cursor == "-" || cursor == "" {
			return l, nil
		}
		if slices.Contains(l.Cursors[:len(l.Cursors)-1], cursor) {
			return l, a.Fails("/cursor", "the cursor comes again, so the list never ends", "another cursor, or none", cursor)
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
	return l, s.Failure("the list does not end", fmt.Sprintf("at most %d pages", MaxPages), "more")
}

// EndlessCursor reports whether a list was read whole, but for a cursor that never
// ends: only scenarios about cursors mind.
func EndlessCursor(err error) bool {
	f, ok := err.(*report.Failure) //nolint:errorlint // as it was made
	return ok && f.Pointer == "/cursor"
}

// ListedOnce demands that every wanted item is in a list exactly once, known by key.
func (s *Scenario) ListedOnce(l *Listing, want []any, key func(any) string) error {
	seen := map[string]int{}
	for _, item := range l.Items {
		seen[key(item)]++
	}
	for _, item := range want {
		if n := seen[key(item)]; n != 1 {
			return s.Failure("an item of the list was seen "+strconv.Itoa(n)+" times", "each exactly once", Shown(item))
		}
	}
	return nil
}

// EventKey is the identity of an event: all of it.
func EventKey(e any) string {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Sprint(e)
	}
	return string(bytes.TrimSpace(text))
}

// EventsOf are those of a run, in the order of the list.
func (s *Scenario) EventsOf(run string) ([]any, error) {
	l, err := s.ReadList("listWorkflowMessageLogs", "logs", 0, map[string]string{"run_id": run})
	if err != nil && !EndlessCursor(err) {
		return nil, err
	}
	var own []any
	for _, e := range l.Items {
		if id, _ := check.Text(e, "/workflowRunId"); id == run {
			own = append(own, e)
		}
	}
	return own, nil
}

// EntriesOf are the entries of a run.
func (s *Scenario) EntriesOf(run string) ([]any, error) {
	filters := map[string]string{}
	if s.Bound("dlq", "run_id") != "" {
		filters["run_id"] = run
	}
	l, err := s.ReadList("listWorkflowDLQ", "dlq", 0, filters)
	if err != nil && !EndlessCursor(err) {
		return nil, err
	}
	s.Asked = l.Responses[0]
	var own []any
	for _, e := range l.Items {
		if id, _ := check.Text(e, "/workflowRunId"); id == run {
			own = append(own, e)
		}
	}
	return own, nil
}
