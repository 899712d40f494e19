package step

import (
	"fmt"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
)

// listed are the operations of the lists, by their names in steps, and their sections in the bindings.
var listed = map[string]struct{ operation, section string }{
	"dead letter queue": {"listWorkflowDLQ", "dlq"},
	"message logs":      {"listWorkflowMessageLogs", "logs"},
}

// readFirst requests the first page of a list.
func (s *Scenario) readFirst(list, size string) error {
	return s.next(listed[list].operation, listed[list].section, size, "")
}

// readAny requests the first page of a list, which may be of other scenarios.
func (s *Scenario) readAny(list string) error {
	if err := s.readFirst(list, ""); err != nil {
		return err
	}
	return s.Asked.Accepted()
}

// next requests the page of a cursor; "" is the first page.
func (s *Scenario) next(op, section, size, cursor string) error {
	query := map[string][]string{}
	for _, q := range [][2]string{{"cursor", cursor}, {"count", size}} {
		if q[1] == "" {
			continue
		}
		param, err := s.Binding(section, q[0])
		if err != nil {
			return err
		}
		query[param] = []string{q[1]}
	}
	a, err := s.Do(harness.Request{Operation: op, Query: query})
	s.Asked, s.runs.listed.Operation = a, op
	return err
}

func (s *Scenario) page() ([]any, string, error) {
	if err := s.Asked.Accepted(); err != nil {
		return nil, "", err
	}
	items, err := s.Asked.List(harness.ListField[s.runs.listed.Operation])
	cursor, _ := check.Text(s.Asked.JSON, "/cursor")
	return items, cursor, err
}

// fullPage judges a page that was read without a size. A page with fewer items and a cursor
// is legal when a page of the largest size has no more: the document does not say that
// pages are full, or not empty.
func (s *Scenario) fullPage(n int) error {
	items, cursor, err := s.filledPage("")
	if err != nil {
		return err
	}
	want := fmt.Sprintf("%d items and a cursor", n)
	got := fmt.Sprintf("%d items and the cursor %q", len(items), cursor)
	switch {
	case len(items) > n, cursor == "":
		return s.Asked.Fails("", "the page", want, got)
	case len(items) == n:
		return nil
	}
	asked := s.Asked
	largest, _, err := s.filledPage(strconv.Itoa(n))
	if err != nil {
		return err
	}
	if len(largest) != len(items) {
		s.Asked = asked
		return s.Asked.Fails("", "the page", want, got)
	}
	s.Observe("page.short", fmt.Sprintf("%d of %d", len(items), n))
	return nil
}

// filledPage returns the items and the cursor of the first page that is not empty.
func (s *Scenario) filledPage(size string) ([]any, string, error) {
	op := s.runs.listed.Operation
	section := map[string]string{"listWorkflowDLQ": "dlq", "listWorkflowMessageLogs": "logs"}[op]
	if size != "" || s.Asked == nil {
		if err := s.next(op, section, size, ""); err != nil {
			return nil, "", err
		}
	}
	for range harness.MaxPages {
		items, cursor, err := s.page()
		if err != nil || len(items) > 0 || cursor == "" {
			return items, cursor, err
		}
		if err := s.next(op, section, size, cursor); err != nil {
			return nil, "", err
		}
	}
	return nil, "", s.Asked.Fails("", "the list does not end", fmt.Sprintf("at most %d pages", harness.MaxPages), "more")
}

func (s *Scenario) cappedPage(n int) error {
	s.Looked(s.Asked.Exchange)
	s.Observe("page.too-large", strconv.Itoa(s.Asked.Status))
	if !s.Asked.OK() {
		return nil
	}
	items, _, err := s.page()
	if err == nil && len(items) > n {
		err = s.Asked.Fails("", "items on the page", fmt.Sprintf("at most %d", n), strconv.Itoa(len(items)))
	}
	return err
}

// read reads a whole list, by its name in steps, for the steps that follow.
func (s *Scenario) read(list string, size int, filters map[string]string, between ...func() error) (err error) {
	s.runs.listed, err = s.ReadList(listed[list].operation, listed[list].section, size, filters, between...)
	return err
}

// recent is a filter that skips what is older than the scenario in a list of a shared account, where
// the target has this filter.
func (s *Scenario) recent(list string) map[string]string {
	filters := map[string]string{}
	if s.Bound(listed[list].section, "from") != "" {
		filters["from"] = strconv.FormatInt(s.runs.triggered.Add(-s.Skew()).UnixMilli(), 10)
	}
	return filters
}
