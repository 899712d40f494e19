package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/report"
)

// listing is what a list operation answered, page after page.
type listing struct {
	op      string
	pages   [][]any
	items   []any
	cursors []string // that of each page; "-" for none
	answers []*answer
	fits    func(any) bool // what a filter asked for
}

// array is the field of a list operation's answer.
var array = map[string]string{"listWorkflowDLQ": "messages", "listWorkflowMessageLogs": "events"}

// maxPages guards against a cursor that never ends.
const maxPages = 3000

// read reads a list to its end. filters are by the names of the bindings; those
// that are not bound cannot be used. between runs after each page.
func (s *toolkit) read(op, section string, size int, filters map[string]string, between ...func() error) (listing, error) {
	l := listing{op: op}
	query := map[string][]string{}
	for name, v := range filters {
		param, err := s.binding(section, name)
		if err != nil {
			return l, err
		}
		query[param] = []string{v}
	}
	if size > 0 {
		param, err := s.binding(section, "count")
		if err != nil {
			return l, err
		}
		query[param] = []string{strconv.Itoa(size)}
	}
	for range maxPages {
		a, err := s.do(ask{op: op, query: query})
		if err != nil {
			return l, err
		}
		if err := a.accepted(); err != nil {
			return l, err
		}
		list, ok := check.At(a.json, "/"+array[op])
		items, isArray := list.([]any)
		if !ok || !isArray {
			return l, a.fails("/"+array[op], "the list is no array", "an array", check.KindOf(list))
		}
		cursor, has := check.Text(a.json, "/cursor")
		if !has {
			cursor = "-"
		}
		l.pages, l.items, l.cursors, l.answers = append(l.pages, items), append(l.items, items...), append(l.cursors, cursor), append(l.answers, a)
		if cursor == "-" || cursor == "" {
			return l, nil
		}
		if slices.Contains(l.cursors[:len(l.cursors)-1], cursor) {
			return l, a.fails("/cursor", "the cursor comes again, so the list never ends", "another cursor, or none", cursor)
		}
		param, err := s.binding(section, "cursor")
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
	return l, s.failure("the list does not end", fmt.Sprintf("at most %d pages", maxPages), "more")
}

// endless reports whether a list was read whole, but for a cursor that never
// ends: only scenarios about cursors mind.
func endless(err error) bool {
	f, ok := err.(*report.Failure) //nolint:errorlint // as it was made
	return ok && f.Pointer == "/cursor"
}

// once demands that every wanted item is in a list exactly once, known by key.
func (s *toolkit) once(l *listing, want []any, key func(any) string) error {
	seen := map[string]int{}
	for _, item := range l.items {
		seen[key(item)]++
	}
	for _, item := range want {
		if n := seen[key(item)]; n != 1 {
			return s.failure("an item of the list was seen "+strconv.Itoa(n)+" times", "each exactly once", shown(item))
		}
	}
	return nil
}

// whole is the identity of an event: all of it.
func whole(e any) string {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Sprint(e)
	}
	return string(bytes.TrimSpace(text))
}

// events are those of a run, in the order of the list.
func (s *toolkit) events(run string) ([]any, error) {
	l, err := s.read("listWorkflowMessageLogs", "logs", 0, map[string]string{"run_id": run})
	if err != nil && !endless(err) {
		return nil, err
	}
	var own []any
	for _, e := range l.items {
		if id, _ := check.Text(e, "/workflowRunId"); id == run {
			own = append(own, e)
		}
	}
	return own, nil
}

// ofRun are the entries of a run.
func (s *toolkit) ofRun(run string) ([]any, error) {
	filters := map[string]string{}
	if s.bound("dlq", "run_id") != "" {
		filters["run_id"] = run
	}
	l, err := s.read("listWorkflowDLQ", "dlq", 0, filters)
	if err != nil && !endless(err) {
		return nil, err
	}
	s.asked = l.answers[0]
	var own []any
	for _, e := range l.items {
		if id, _ := check.Text(e, "/workflowRunId"); id == run {
			own = append(own, e)
		}
	}
	return own, nil
}
