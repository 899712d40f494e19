package step

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

var dlqSteps = []step{
	{"Given", `a dead-lettered run( of it| of another workflow| whose fault has been repaired| with a failure callback)?`, (*Scenario).deadRunOf},
	{"Given", `(\d+) dead-lettered runs`, (*Scenario).deadRuns},
	{"Given", `two dead-lettered runs that differ in everything`, (*Scenario).twoDeadRuns},
	{"When", `the failure callback has been answered`, (*Scenario).callbackAnswered},
	{"When", `the dead letter queue is filtered by the (start|end) dates around its entries`, (*Scenario).filterQueueByDate},
	{"Then", `the (run|message) has exactly (\d+) entr(?:y|ies) in the dead letter queue`, (*Scenario).entriesAre},
	{"Then", `the (entry|entry of the new run|entry of the invoked run|entry of the message|answer|message|callback) holds:`, (*Scenario).itemHolds},
	{"Then", `the entry has the same id and the same times`, (*Scenario).entryIsSame},
	{"Then", `the date is inclusive`, (*Scenario).dateIsInclusive},
	{"Then", `the entry holds the outcome of the failure callback`, (*Scenario).callbackStored},
	{"Then", `the ids of the entries differ`, (*Scenario).idsDiffer},
}

// entryID returns the id of an entry, "" when it has none.
func entryID(e any) string {
	id, _ := check.Text(e, "/dlqId")
	return id
}

// buried waits until a run is in the dead letter queue and returns its entry.
func (s *Scenario) buried(run string) (any, error) {
	var entry any
	err := s.AfterRun(func() error {
		entries, err := s.EntriesOf(run)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return s.Failure("the failed run is not in the dead letter queue", "an entry of "+run, noEntry)
		}
		entry = entries[0]
		return nil
	})
	if f, ok := errors.AsType[*report.Failure](err); ok && strings.HasPrefix(f.Got, noEntry) {
		f.Got += s.newestEntries()
	}
	return entry, err
}

const noEntry = "none"

// newestEntries names the runs of the newest entries, for a failure: an entry may be there under
// another id.
func (s *Scenario) newestEntries() string {
	a, err := s.Do(harness.Request{Operation: "listWorkflowDLQ"})
	if err != nil {
		return ""
	}
	items, _ := check.List(a.JSON, "/messages")
	slices.SortStableFunc(items, func(a, b any) int {
		x, _ := check.Integer(a, "/createdAt")
		y, _ := check.Integer(b, "/createdAt")
		return cmp.Compare(y, x)
	})
	var ids []string
	for _, item := range items[:min(len(items), 3)] {
		ids = append(ids, runOf(item))
	}
	if len(ids) == 0 {
		return "; the queue is empty"
	}
	return "; the newest entries are of " + strings.Join(ids, ", ")
}

// die triggers a run that fails, and waits for its entry.
func (s *Scenario) die() error {
	s.Configure(header.ForwardPrefix+"X-Order", "order-7")
	if name := s.Bound("headers", "label"); name != "" && s.runs.header.Get(name) == "" && !s.runs.unlabelled {
		s.Configure(name, s.Name("label"))
	}
	if err := s.triggerRun(); err != nil {
		return err
	}
	if s.flow.key != "" { // its key is paused
		if err := s.resume(); err != nil {
			return s.Assume(err, "REQ-FLC-001")
		}
	}
	entry, err := s.buried(s.runs.id)
	if err != nil {
		return s.Assume(err, "REQ-DLQ-005")
	}
	s.runs.entry = entry
	s.runs.entries = append(s.runs.entries, entry)
	return nil
}

func (s *Scenario) deadRun() error {
	return harness.InTurn(s.failing, s.die)
}

// deadRunOf makes a dead-lettered run of the workflow that the scenario has, or of one that always fails.
func (s *Scenario) deadRunOf(what string) error {
	switch what {
	case " of it":
		return s.die()
	case " of another workflow":
		return s.deadOfAnother()
	case " with a failure callback":
		return s.deadRunWithCallback()
	}
	err := s.deadRun()
	if err == nil && what != "" {
		s.runs.peer.Heal()
	}
	return err
}

// deadRunWithCallback makes a dead-lettered run with a failure callback, which accepts the call unless a step
// says otherwise. Its entry must contain the answer.
func (s *Scenario) deadRunWithCallback() error {
	name, err := s.Binding("headers", "failure_callback")
	if err != nil {
		return err
	}
	told := s.Named["failure callback"] != nil
	e := s.Endpoint("failure callback")
	if e.Aside, s.runs.callback = true, e; !told {
		e.Answer(receiver.Reply{Status: http.StatusAccepted, Body: "noted", Header: http.Header{"X-Noted": {"yes"}}})
	}
	s.Configure(name, e.URL)
	return s.deadRun()
}

// deadRuns triggers all runs before it waits for the first failure, so that they fail concurrently.
func (s *Scenario) deadRuns(n int) error {
	if most := s.Suite.Target.Limits.MaxDLQEntries; most > 0 && n > most {
		return harness.Inconclusive(report.BudgetExhausted, "limits.max_dlq_entries: %d (it needs %d)", most, n)
	}
	if n > 100 { // only their number matters
		return s.Once("many dead runs", func() error { return s.makeDeadRuns(n) })
	}
	return s.makeDeadRuns(n)
}

func (s *Scenario) makeDeadRuns(n int) error {
	if err := s.failing(); err != nil {
		return err
	}
	for i := range n {
		s.runs.payload = fmt.Sprintf(`{"run":%d}`, i)
		id, err := s.trigger(s.runs.peer, s.runs.payload)
		if err != nil {
			return err
		}
		s.runs.id = id
	}
	const readers = 16
	s.runs.entries = make([]any, len(s.runs.ids))
	err := atOnce(readers, func(first int) (err error) {
		for i := first; i < len(s.runs.ids) && err == nil; i += readers {
			s.runs.entries[i], err = s.buried(s.runs.ids[i])
		}
		return err
	})
	s.runs.entry = s.runs.entries[len(s.runs.entries)-1]
	return s.Assume(err, "REQ-DLQ-005")
}

// twoDeadRuns makes two dead-lettered runs that differ in workflow, status, label and
// failure callback.
func (s *Scenario) twoDeadRuns() error {
	if err := harness.InTurn(s.deadRunWithCallback, s.Assuming(s.callbackStored, "REQ-DLQ-012")); err != nil {
		return err
	}
	s.runs.entries[0] = s.runs.entry
	s.runs.header.Del(s.Bound("headers", "failure_callback"))
	if name := s.Bound("headers", "label"); name != "" {
		s.Configure(name, s.Name("label")+"2")
	}
	first := s.runs.peer
	if err := s.nextWorkflow(); err != nil {
		return err
	}
	if err := s.newWorkflow(s.stepOf("Run fails with 500")); err != nil {
		return err
	}
	s.runs.child = first
	return s.die()
}

// readQueue reads the entries of the scenario's run. Without a run it reads the first page
// of the queue, which may have entries of other scenarios.
func (s *Scenario) readQueue() error {
	if s.runs.id == "" {
		return s.readAny("dead letter queue")
	}
	entries, err := s.EntriesOf(s.runs.id)
	switch {
	case err != nil:
		return err
	case len(entries) > 0:
		s.runs.entry = entries[0]
	case s.runs.entry != nil:
		return s.Assume(s.Failure("the entry of the run is no longer in the dead letter queue", harness.Shown(s.runs.entry), "none"), "REQ-DLQ-005", "REQ-DLQ-013")
	}
	return nil
}

// ofScenario is a filter for the workflow of the scenario; nil when the filter is not bound.
func (s *Scenario) ofScenario() map[string]string {
	if s.Bound("dlq", "url") == "" {
		return nil
	}
	return map[string]string{"url": s.runs.peer.Endpoint.URL}
}

// callbackAnswered leaves the target time to store the outcome, which steps then read.
func (s *Scenario) callbackAnswered() error {
	s.runs.entry = nil
	return harness.InTurn(func() error { return s.reaches(s.runs.callback.Name, 1, "calls of the failure callback") },
		func() error { return s.Clock.Pass(s.Context, 2*time.Second) })
}

// entriesAre waits for the first entry before it counts, since entries may appear shortly
// after the failure.
func (s *Scenario) entriesAre(of string, n int) error {
	if n > 0 {
		if _, err := s.buried(s.runs.id); err != nil {
			return err
		}
	}
	var entries []any
	var err error
	if of == "message" {
		_, entries, err = s.entriesOfMessage()
	} else {
		entries, err = s.EntriesOf(s.runs.id)
	}
	if err == nil && len(entries) != n {
		first, _ := check.At(entries, "/0")
		err = s.FailureAt(first, "", fmt.Sprintf("entries of the %s in the dead letter queue: %d", of, len(entries)), fmt.Sprintf("exactly %d", n))
	}
	return err
}

// callbackStored waits until the entry has the final outcome of the failure callback.
func (s *Scenario) callbackStored() error {
	return s.Eventually(func() error {
		entry, err := s.buried(s.runs.id)
		if err != nil {
			return err
		}
		s.runs.entry = entry
		if status, _ := check.Integer(entry, "/failureCallbackInfo/responseStatus"); status != http.StatusAccepted {
			return s.FailureAt(entry, "/failureCallbackInfo", "the outcome of the failure callback is not stored", "an object with responseStatus 202")
		}
		state, _ := check.Text(entry, "/failureCallbackInfo/state")
		s.Observe("failureCallbackInfo.state", state)
		err = cmp.Or(
			s.Equal(entry, "/failureCallbackInfo/state", "the state of a failure callback that was accepted", "CALLBACK_SUCCESS"),
			s.Equal(entry, "/failureCallbackInfo/responseBody", "the response body of the failure callback", "noted"),
			s.shows(entry, "/failureCallbackInfo/responseHeaders", "the response headers of the failure callback", "X-Noted: yes"),
		)
		if field := s.Bound("fields.dlq", "callback_request_headers"); err == nil && field != "" {
			holder := "/" // or failureCallbackInfo: the document does not say where
			if _, inside := check.At(entry, "/failureCallbackInfo/"+field); inside {
				holder = "/failureCallbackInfo/"
			}
			return s.CheckField(entry, holder+field, "header map")
		}
		return err
	})
}

// idsDiffer treats an empty id as a repeated one: neither can be used to fetch or delete an entry.
func (s *Scenario) idsDiffer() error {
	seen := map[string]bool{}
	for _, e := range s.runs.entries {
		id := entryID(e)
		if id == "" || seen[id] {
			return s.FailureAt(e, "/dlqId", "the id of the entry", "one of its own")
		}
		seen[id] = true
	}
	return nil
}
