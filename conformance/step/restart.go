package step

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

// restart holds what a scenario records before a restart, and the result.
type restart struct {
	answer *harness.Response
	run    string // id of the new run
	asked  time.Time
	calls  int // of the workflow, before the restart
	done   map[string]int
	chosen string
	many   []*harness.Response // answers of several restarts
}

var restartSteps = []step{
	{"When", `(its entry|the entry of the second|an entry that does not exist) is restarted( a second later|, and then the entry of the new run)?`, (*Scenario).restartThe},
	{"When", `its entry is restarted with:`, (*Scenario).restartWith},
	{"When", `(?:(?:all )?their entries are|its entry is) restarted (at once|one after the other|twice at once)`, (*Scenario).restartAll},
	{"Then", `the answers name different runs`, (*Scenario).differentRuns},
	{"Then", `each new run is called with the payload of its entry`, (*Scenario).calledWithTheirPayloads},
	{"Then", `the new run executes the step "([^"]+)" again`, (*Scenario).executesAgain},
	{"Then", `the new run is tried exactly (\d+) times`, (*Scenario).triedExactly},
	{"Then", `the new run goes out with the flow-control value "([^"]+)"`, (*Scenario).goesOutWith},
}

// restart sends the documented POST.
func (s *Scenario) restart(entry any, header http.Header) error {
	r := &s.runs.restarted
	r.calls, r.done = len(s.runs.peer.Endpoint.Look()), map[string]int{}
	for _, st := range s.runs.peer.Steps {
		r.done[st.Name] = s.runs.peer.Executions(st.Name)
	}
	var err error
	if r.asked, err = s.Clock.Target(s.Context); err != nil {
		return err
	}
	r.answer, err = s.Do(harness.Request{Operation: "restartWorkflowRun", Vars: map[string]string{"dlqId": entryID(entry)}, Header: header})
	s.Asked = r.answer
	if err != nil {
		return err
	}
	s.Observe("restart.status", strconv.Itoa(r.answer.Status))
	r.run, _ = check.Text(r.answer.JSON, "/workflowRunId")
	return nil
}

// restartOK restarts an entry and requires that the target accepts.
func (s *Scenario) restartOK(entry any, header http.Header) error {
	if err := s.restart(entry, header); err != nil {
		return err
	}
	return s.Asked.Accepted()
}

func (s *Scenario) restartIt() error { return s.restartOK(s.runs.entry, nil) }

func (s *Scenario) restartThe(which, how string) error {
	switch {
	case which == "an entry that does not exist": // later steps judge the answer
		return s.restart(map[string]any{"dlqId": entryID(s.runs.entry) + "9"}, nil)
	case which == "the entry of the second":
		return s.restartOK(s.runs.entries[1], nil)
	case how == " a second later":
		if err := s.Clock.Pass(s.Context, 1100*time.Millisecond); err != nil {
			return err
		}
	case how != "": // the scenario's own run remains the first one
		entry, err := s.restartAndFail()
		if err != nil {
			return err
		}
		return s.restartOK(entry, nil)
	}
	return s.restartIt()
}

// restartWith restarts the entry with the headers of a table.
func (s *Scenario) restartWith(t *godog.Table) error {
	h := http.Header{}
	for _, row := range rowsOf(t) {
		if err := s.option(h.Set, row.Place, row.Want); err != nil {
			return err
		}
	}
	err := s.restartOK(s.runs.entry, h)
	if h.Get(header.FlowControlValue) != "" {
		err = s.flowRefused(err)
	}
	return err
}

// newCalls waits for calls of the new run. Calls that do not name their run count.
func (s *Scenario) newCalls() ([]*receiver.Received, error) {
	var calls []*receiver.Received
	err := s.Within(func() error {
		calls = nil
		for _, got := range s.runs.peer.Endpoint.Look()[s.runs.restarted.calls:] {
			if run := got.Header.Get(header.WorkflowRunID); run == "" || run == s.runs.restarted.run {
				calls = append(calls, got)
			}
		}
		if len(calls) == 0 {
			return s.Failure("the workflow was not called by the new run", "a call", "none")
		}
		return nil
	})
	return calls, err
}

// executesAgain compares with the number of executions before the restart, since the
// failed run has executed steps as well.
func (s *Scenario) executesAgain(name string) error {
	before := s.runs.restarted.done[name]
	return s.Within(func() error {
		if s.runs.peer.Executions(name) <= before {
			return s.Failure("the step "+name+" was not executed again", "one execution more", strconv.Itoa(before))
		}
		return nil
	})
}

// triedExactly waits for n tries, and then until no further try can follow.
func (s *Scenario) triedExactly(n int) error {
	count := func() (int, error) {
		calls, err := s.newCalls()
		return len(calls), err
	}
	err := s.AfterRetries(func() error {
		if got, err := count(); err != nil || got < n {
			return s.Failure("tries of the new run", strconv.Itoa(n), strconv.Itoa(got))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.AwaitQuiet(s.runs.peer.Endpoint.Look()[s.runs.restarted.calls:]); err != nil {
		return err
	}
	if got, err := count(); err != nil || got != n {
		return s.Failure("tries of the new run", strconv.Itoa(n), strconv.Itoa(got))
	}
	return nil
}

// goesOutWith looks for the flow-control value where it shows: on the calls of
// the new run, or in the entry that it leaves when it fails.
func (s *Scenario) goesOutWith(value string) error {
	calls, err := s.newCalls()
	if err != nil {
		return err
	}
	dense := func(v string) string { return strings.ReplaceAll(v, " ", "") }
	var seen []string
	for _, v := range calls[0].Header.Values(header.FlowControlValue) {
		seen = append(seen, dense(v))
	}
	if entry, err := s.buried(s.runs.restarted.run); err == nil {
		sent, _ := check.At(entry, "/header")
		m, _ := sent.(map[string]any)
		for name, values := range m {
			if list, _ := values.([]any); s.IsHeader(name, header.FlowControlValue) {
				for _, v := range list {
					seen = append(seen, dense(fmt.Sprint(v)))
				}
			}
		}
	}
	if first := s.runs.peer.Endpoint.Look()[0]; len(seen) == 0 && first.Header.Get(header.FlowControlValue) != "" {
		return s.Failure("the flow-control value of the new run, which the calls of the original show", value, "none")
	}
	if sent, _ := check.At(s.runs.entry, "/header"); len(seen) == 0 && s.namesHeader(sent, header.FlowControlValue) {
		return s.Failure("the flow-control value of the new run, which the entry of the original shows", value, "none")
	}
	if len(seen) == 0 {
		return harness.Inconclusive(report.TriggerNotObserved, "neither a delivery nor the entry shows the flow-control value of a run")
	}
	value = dense(s.FlowValue(value))
	if slices.ContainsFunc(seen, func(v string) bool { return v != value && !slices.Contains(strings.Split(v, ","), value) }) {
		return s.Failure("the flow-control value of the new run", value, strings.Join(seen, " | "))
	}
	return nil
}
