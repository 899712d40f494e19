package step

import (
	"fmt"
	"slices"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/spec/header"
)

// restartMany restarts entries concurrently or one after another. It does not judge the answers.
func (s *Scenario) restartMany(entries []any, parallel bool) error {
	r := &s.runs.restarted
	r.calls = len(s.runs.peer.Endpoint.Look())
	r.many = make([]*harness.Response, len(entries))
	one := func(i int) (err error) {
		r.many[i], err = s.Do(harness.Request{Operation: "restartWorkflowRun", Vars: map[string]string{"dlqId": entryID(entries[i])}})
		if err == nil {
			s.Looked(r.many[i].Exchange)
		}
		return err
	}
	if parallel {
		return atOnce(len(entries), one)
	}
	for i := range entries {
		if err := one(i); err != nil {
			return err
		}
	}
	return nil
}

// restartAll restarts all entries of the scenario and requires that each restart is accepted, or one entry twice.
func (s *Scenario) restartAll(how string) error {
	if how == "twice at once" {
		return s.restartMany([]any{s.runs.entry, s.runs.entry}, true)
	}
	if err := s.restartMany(s.runs.entries, how == "at once"); err != nil {
		return err
	}
	for _, a := range s.runs.restarted.many {
		s.Asked = a
		if err := a.Accepted(); err != nil {
			return err
		}
	}
	return nil
}

// differentRuns requires a new run id in each accepted answer: a restart creates a
// completely new run.
func (s *Scenario) differentRuns() error {
	seen := map[string]bool{}
	for _, a := range s.runs.restarted.many {
		run, _ := check.Text(a.JSON, "/workflowRunId")
		if a.OK() && (run == "" || seen[run] || slices.Contains(s.runs.ids, run)) {
			return a.Fails("/workflowRunId", "the id of the new run", "one of its own", run)
		}
		seen[run] = a.OK()
	}
	return nil
}

// calledWithTheirPayloads requires that each new run is called with the payload of its
// entry. When calls do not name their run, it compares payloads only.
func (s *Scenario) calledWithTheirPayloads() error {
	return s.Within(func() error {
		calls := s.runs.peer.Endpoint.Look()[s.runs.restarted.calls:]
		for i, a := range s.runs.restarted.many {
			run, _ := check.Text(a.JSON, "/workflowRunId")
			want, found := fmt.Sprintf(`{"run":%d}`, i), false
			for _, got := range calls {
				if id := got.Header.Get(header.WorkflowRunID); (id == "" || id == run) && string(workflow.InitialPayload(got)) == want {
					found = true
				}
			}
			if !found {
				return s.Failure("calls of the run "+run, "one with the payload "+want, fmt.Sprintf("%d calls of new runs", len(calls)))
			}
		}
		return nil
	})
}

// namesHeader reports whether a header map has a name, ignoring case.
func (s *Scenario) namesHeader(header any, name string) bool {
	m, _ := header.(map[string]any)
	for given := range m {
		if s.IsHeader(given, name) {
			return true
		}
	}
	return false
}
