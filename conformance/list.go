package conformance

import (
	"fmt"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
)

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
	list, _ := check.At(s.asked.json, "/"+array[s.runs.listed.op])
	items, ok := list.([]any)
	if !ok {
		return nil, "", s.asked.fails("/"+array[s.runs.listed.op], "the list is no array", "an array", check.KindOf(list))
	}
	cursor, _ := check.Text(s.asked.json, "/cursor")
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
