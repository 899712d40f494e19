package step

import (
	"slices"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/world"
)

var filterSteps = []step{
	{"When", `the (message logs|dead letter queue) (?:are|is) filtered by (run id|workflow url|response status|publisher|callback state|label|creation of the run|message id|the state "\w+"|an unknown run id)`, (*Scenario).filterBy},
	{"When", `the dead letter queue is filtered by a run id that nobody has`, (*Scenario).filterByNobody},
	{"Then", `no (event of another run|entry of another workflow) is listed`, (*Scenario).onlyOwn},
}

func (s *Scenario) filterBy(list, by string) error {
	query, fits, err := s.filtering(list, by)
	if err != nil {
		return err
	}
	return s.readFiltered(list, query, fits)
}

// filtering returns a filter for the value of the first item that has one: others differ in it, or
// have values that begin with it, so that a filter that compares prefixes lists too much. The list
// starts at the trigger where the target has this filter, to skip older items of a shared account.
func (s *Scenario) filtering(list, by string) (query map[string]string, fits func(any) bool, err error) {
	value := ""
	if quoted := harness.QuotedNames(by); len(quoted) > 0 {
		by, value = "state", quoted[0]
	}
	items := s.runs.entries
	if list == "message logs" {
		err := s.settled(func() error { // an event in the state may be written late
			if err := s.know(s.runs.ids...); err != nil || value == "" || slices.ContainsFunc(s.runs.known, inState(value)) {
				return err
			}
			return s.lacks(value, s.runs.known)
		})
		if err != nil {
			return nil, nil, err
		}
		items = s.runs.known
	}
	if by == "an unknown run id" { // alone
		run, _ := check.Text(items[0], "/workflowRunId")
		return map[string]string{"run_id": run + "unknown"}, func(any) bool { return false }, nil
	}
	binding, pointer := world.FilterOf(list, by)
	if by == "label" {
		if _, err = s.Binding("headers", "label"); err == nil { // otherwise no entry has a label
			pointer, err = s.Binding("fields.dlq", "label")
		}
		if err != nil {
			return nil, nil, err
		}
		pointer = "/" + pointer
	}
	for _, item := range items {
		if v, has := check.At(item, pointer); has && value == "" {
			value = harness.Plain(v)
		}
	}
	query = s.recent(list)
	query[binding] = value
	return query, func(item any) bool {
		v, _ := check.At(item, pointer)
		return harness.Plain(v) == value
	}, nil
}

// filterByNobody asks once, since a target may refuse a value that cannot exist.
func (s *Scenario) filterByNobody() error {
	param, err := s.Binding("dlq", "run_id")
	if err == nil {
		s.Asked, err = s.Do(harness.Request{Operation: "listWorkflowDLQ", Query: map[string][]string{param: {s.runs.id + "nobody"}}})
	}
	return err
}

// readFiltered reads a filtered list and stores fits, which reports whether an item matches.
func (s *Scenario) readFiltered(list string, filters map[string]string, fits func(any) bool) error {
	err := s.read(list, 0, filters)
	s.runs.listed.Fits = fits
	return err
}

func (s *Scenario) onlyOwn(others string) error {
	pointer, own, name := "/workflowRunId", s.runs.id, "an event"
	if others == "entry of another workflow" {
		if _, err := s.Binding("dlq", "url"); err != nil { // nothing was filtered
			return err
		}
		pointer, own, name = "/workflowUrl", s.runs.peer.Endpoint.URL, "an entry"
	}
	for _, item := range s.runs.listed.Items {
		if err := s.Equal(item, pointer, name+" that the filter excludes was listed", own); err != nil {
			return err
		}
	}
	return nil
}
