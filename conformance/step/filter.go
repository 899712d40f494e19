package step

import (
	"slices"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/world"
)

var filterSteps = []step{
	{"When", `the (message logs|dead letter queue) (?:are|is) filtered by (run id|workflow url|response status|publisher|callback state|label|creation of the run|message id|the state "\w+"|an unknown run id)`, (*Scenario).filterBy},
}

// filterBy asks once for a run that does not exist, since a target may refuse a value that cannot exist.
func (s *Scenario) filterBy(list, by string) error {
	if by == "an unknown run id" {
		param, err := s.Binding(listed[list].section, "run_id")
		if err == nil {
			s.Asked, err = s.Do(harness.Request{Operation: listed[list].operation, Query: map[string][]string{param: {s.runs.id + "unknown"}}})
		}
		return err
	}
	query, fits, err := s.filtering(list, by)
	if err != nil {
		return err
	}
	return s.readFiltered(list, query, fits)
}

// filtering returns a filter for the value of the first item that has one: others differ in it, or
// have values that begin with it, so that a filter that compares prefixes lists too much. The list
// starts at the trigger where the target has this filter, to skip older items of a shared account.
func (s *Scenario) filtering(list, by string) (query map[string]string, fits func(any) error, err error) {
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
	return query, s.only(pointer, value), nil
}

// unfitting is the failure of an item that a filter excludes.
const unfitting = "the filtered list holds an item that does not fit"

// only judges items of a list, which have a value at a pointer.
func (s *Scenario) only(pointer, value string) func(item any) error {
	return func(item any) error {
		if v, _ := check.At(item, pointer); harness.Plain(v) == value {
			return nil
		}
		return s.FailureAt(item, pointer, unfitting, value)
	}
}

// readFiltered reads a filtered list and stores fits, which judges an item.
func (s *Scenario) readFiltered(list string, filters map[string]string, fits func(any) error) error {
	err := s.read(list, 0, filters)
	s.runs.listed.Fits = fits
	return err
}
