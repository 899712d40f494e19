package step

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
)

var filterSteps = []step{
	{"When", `the (message logs|dead letter queue) (?:are|is) filtered by (run id|workflow url|response status|publisher|callback state|label|creation of the run|message id|the state "\w+"|run id and the state "\w+"|an unknown run id)`, (*Scenario).filterBy},
	{"When", `the dead letter queue is filtered by the run id of one and the label of the other`, (*Scenario).filterByTwo},
	{"When", `the (message logs|dead letter queue) (?:are|is) filtered by a ([a-z ]+) that nobody has`, (*Scenario).filterByNobody},
}

// filters are the binding of each filter, and where an item has the value.
var filters = map[string][2]string{
	"run id": {"run_id", "workflowRunId"}, "workflow url": {"url", "workflowUrl"}, "creation of the run": {"created_at", "workflowCreatedAt"},
	"message id": {"message_id", "stepInfo/messageId"}, "state": {"state", "state"}, "response status": {"response_status", "responseStatus"},
	"publisher": {"caller_ip", "callerIP"}, "callback state": {"callback_state", "failureCallbackInfo/state"}, "label": {"label", ""},
}

func (s *Scenario) filterBy(list, by string) error {
	query, fits, err := s.filtering(list, by)
	if err != nil {
		return err
	}
	return s.readFiltered(list, query, fits)
}

// filterByTwo requires that nothing is listed that fits one filter only.
func (s *Scenario) filterByTwo() error {
	query, fits, err := s.filtering("dead letter queue", "run id and label")
	if err != nil {
		return err
	}
	mixed := maps.Clone(query)
	mixed["run_id"], _ = check.Text(s.Runs.entries[1], "/workflowRunId")
	l, err := s.ReadList("listWorkflowDLQ", "dlq", 0, mixed)
	if err != nil {
		return err
	}
	if len(l.Items) > 0 {
		return s.FailureOf(l.Items[0], "entries that fit one filter only were listed", "none", harness.Shown(l.Items[0]))
	}
	return s.readFiltered("dead letter queue", query, fits)
}

// filtering returns filters for values of the first item that has them: others differ in them, or
// have values that begin with them, so that a filter that compares prefixes lists too much. The list
// starts at the trigger where the target has this filter, to skip older items of a shared account.
func (s *Scenario) filtering(list, by string) (query map[string]string, fits func(any) bool, err error) {
	items := s.Runs.entries
	if list == "message logs" {
		if err := s.know(s.Runs.ids...); err != nil {
			return nil, nil, err
		}
		items = s.Runs.known
	}
	query, wanted := s.recent(list), map[string]string{}
	if by == "an unknown run id" { // alone
		run, _ := check.Text(items[0], "/workflowRunId")
		return map[string]string{"run_id": run + "unknown"}, func(any) bool { return false }, nil
	}
	for name := range strings.SplitSeq(by, " and ") {
		value := ""
		if quoted := harness.QuotedNames(name); len(quoted) > 0 {
			name, value = "state", quoted[0]
		}
		binding, place := filters[name][0], filters[name][1]
		if name == "label" {
			if _, err = s.Binding("headers", "label"); err == nil { // otherwise no entry has a label
				place, err = s.Binding("fields.dlq", "label")
			}
			if err != nil {
				return nil, nil, err
			}
		}
		for _, item := range items {
			if v, has := check.At(item, "/"+place); has && value == "" {
				value = harness.Plain(v)
			}
		}
		query[binding], wanted["/"+place] = value, value
	}
	return query, func(item any) bool {
		for pointer, want := range wanted {
			if v, _ := check.At(item, pointer); harness.Plain(v) != want {
				return false
			}
		}
		return true
	}, nil
}

// filterByNobody filters by a value that no item has, alone and beside another filter: a target that
// ignores the filter lists everything.
func (s *Scenario) filterByNobody(list, name string) error {
	millis := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	address := s.Runs.peer.Endpoint.URL
	nobody, known := map[string][2]string{
		"run id": {"run_id", s.Runs.Id + "nobody"}, "run id in another case": {"run_id", strings.ToUpper(s.Runs.Id)},
		"workflow url": {"url", address + "/nobody"}, "workflow url with another query": {"url", address + "?nobody=1"},
		"label": {"label", s.Name("nobody")}, "label in another case": {"label", strings.ToUpper(s.Name("label"))},
		"response status": {"response_status", "418"}, "publisher": {"caller_ip", "203.0.113.77"}, "callback state": {"callback_state", "CALLBACK_OF_NOBODY"},
		"message id": {"message_id", "msg_" + s.Key + "nobody"}, "state": {"state", "STATE_OF_NOBODY"}, "creation of the run": {"created_at", millis(s.Runs.triggered.Add(-24 * time.Hour))},
	}[name]
	if !known {
		return harness.Fault("", "no filter is called %q", name)
	}
	operation, section := listed[list].operation, listed[list].section
	if _, err := s.Binding(section, nobody[0]); err != nil {
		return err
	}
	s.Runs.listed = harness.Listing{Operation: operation}
	query := map[string][]string{}
	for _, filter := range [][2]string{nobody, {"from", millis(s.Runs.triggered.Add(-s.Skew()))}} {
		param := s.Bound(section, filter[0])
		if param == "" {
			continue
		}
		query[param] = []string{filter[1]}
		a, err := s.Do(harness.Request{Operation: operation, Query: query})
		if err != nil {
			return err
		}
		s.Looked(a.Exchange)
		s.Asked = a
		if items, isList := check.List(a.JSON, "/"+harness.ListField[operation]); a.OK() && !(isList && len(items) == 0) {
			return nil // a step judges this answer
		}
	}
	return nil
}

// readFiltered reads a filtered list and stores fits, which reports whether an item matches.
func (s *Scenario) readFiltered(list string, filters map[string]string, fits func(any) bool) error {
	err := s.read(list, s.Runs.size, filters)
	s.Runs.listed.Fits = fits
	return err
}
