package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
func (s *scenario) read(op, section string, size int, filters map[string]string, between ...func() error) (listing, error) {
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
		list, ok := at(a.json, "/"+array[op])
		items, isArray := list.([]any)
		if !ok || !isArray {
			return l, a.fails("/"+array[op], "the list is no array", "an array", kindOf(list))
		}
		cursor, has := text(a.json, "/cursor")
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
func (s *scenario) once(l *listing, want []any, key func(any) string) error {
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

// first asks for one page.
func (s *scenario) first(op, section, size string) error { return s.next(op, section, size, "") }

// next asks for the page of a cursor.
func (s *scenario) next(op, section, size, cursor string) error {
	query := map[string][]string{}
	if cursor != "" {
		param, err := s.binding(section, "cursor")
		if err != nil {
			return err
		}
		query[param] = []string{cursor}
	}
	if size != "" {
		param, err := s.binding(section, "count")
		if err != nil {
			return err
		}
		query[param] = []string{size}
	}
	a, err := s.do(ask{op: op, query: query})
	s.asked, s.runs.listed.op = a, op
	return err
}

func (s *scenario) page() ([]any, string, error) {
	if err := s.asked.accepted(); err != nil {
		return nil, "", err
	}
	list, _ := at(s.asked.json, "/"+array[s.runs.listed.op])
	items, ok := list.([]any)
	if !ok {
		return nil, "", s.asked.fails("/"+array[s.runs.listed.op], "the list is no array", "an array", kindOf(list))
	}
	cursor, _ := text(s.asked.json, "/cursor")
	return items, cursor, nil
}

// fullPage judges a page that was read without a size. One that holds less, and
// has a cursor, is legal where pages of the largest size hold no more: nothing
// says that a page is full, or that it is not empty.
func (s *scenario) fullPage(n int) error {
	items, cursor, err := s.filledPage("")
	if err != nil {
		return err
	}
	want := fmt.Sprintf("%d items and a cursor", n)
	got := fmt.Sprintf("%d items and the cursor %q", len(items), cursor)
	switch {
	case len(items) > n, cursor == "":
		return s.failure("the page", want, got)
	case len(items) == n:
		return nil
	}
	asked := s.asked
	largest, _, err := s.filledPage(strconv.Itoa(n))
	if err != nil {
		return err
	}
	if len(largest) != len(items) {
		s.asked = asked
		return s.failure("the page", want, got)
	}
	s.observe("page.short", fmt.Sprintf("%d of %d", len(items), n))
	return nil
}

// filledPage is the first page of a size that is not empty, and its cursor.
func (s *scenario) filledPage(size string) ([]any, string, error) {
	op := s.runs.listed.op
	section := map[string]string{"listWorkflowDLQ": "dlq", "listWorkflowMessageLogs": "logs"}[op]
	if size != "" || s.asked == nil {
		if err := s.first(op, section, size); err != nil {
			return nil, "", err
		}
	}
	for range maxPages {
		items, cursor, err := s.page()
		if err != nil || len(items) > 0 || cursor == "" {
			return items, cursor, err
		}
		if err := s.next(op, section, size, cursor); err != nil {
			return nil, "", err
		}
	}
	return nil, "", s.failure("the list does not end", fmt.Sprintf("at most %d pages", maxPages), "more")
}

func (s *scenario) cappedPage(n int) error {
	s.looked(s.asked.exchange)
	s.observe("page.too-large", strconv.Itoa(s.asked.status))
	if !s.asked.ok() {
		return nil
	}
	items, _, err := s.page()
	if err == nil && len(items) > n {
		err = s.failure("items on the page", fmt.Sprintf("at most %d", n), strconv.Itoa(len(items)))
	}
	return err
}
