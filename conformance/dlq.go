package conformance

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

var dlqSteps = []step{
	{"Given", `a dead-lettered run`, (*scenario).deadRun},
	{"Given", `a dead-lettered run with a failure callback`, (*scenario).deadRunWithCallback},
	{"Given", `a dead-lettered run that is configured in every way`, (*scenario).deadConfigured},
	{"Given", `a dead-lettered run of another workflow`, (*scenario).deadOfAnother},
	{"Given", `a dead-lettered run with a failure callback that fails`, (*scenario).deadWithFailingCallback},
	{"Given", `(\d+) dead-lettered runs`, (*scenario).deadRuns},
	{"Given", `two dead-lettered runs that differ in everything`, (*scenario).twoDeadRuns},
	{"When", `the dead letter queue is read`, (*scenario).readQueue},
	{"When", `the dead letter queue is read without a page size`, (*scenario).readFirstEntries},
	{"When", `the dead letter queue is read with a page size of (\d+)`, (*scenario).readEntriesSized},
	{"When", `the dead letter queue is read (\d+) at a time`, (*scenario).readEntriesPaged},
	{"When", `the dead letter queue is read (\d+) at a time while another run fails`, (*scenario).readEntriesRacing},
	{"When", `the failure callback has been answered`, (*scenario).callbackAnswered},
	{"When", `the dead letter queue is filtered by (run id|workflow url|response status|publisher|callback state|label|the run id of one and the label of the other)`, (*scenario).filterQueue},
	{"When", `the dead letter queue is filtered by the (start|end) dates around its entries`, (*scenario).filterQueueByDate},
	{"When", `the dead letter queue is filtered by a (run id|workflow url|response status|publisher|callback state|label) that nobody has`, (*scenario).filterQueueByNobody},
	{"When", `the dead letter queue is read again a little later`, (*scenario).readQueueAgain},
	{"Then", `the run is dead-lettered after (\d+) tries of its step`, (*scenario).deadAfter},
	{"Then", `the run is not in the dead letter queue`, (*scenario).notDead},
	{"Then", `the run has exactly (\d+) entr(?:y|ies) in the dead letter queue`, (*scenario).entriesOfRun},
	{"Then", `the entry has the field "(\w+)" as ([\w ]+)`, (*scenario).entryHas},
	{"Then", `the entry has all fields of the table but failureCallback`, (*scenario).entryHasAll},
	{"Then", `callerIP is an IP address`, (*scenario).callerIsAddress},
	{"Then", `the entry has the same id and the same times`, (*scenario).entryIsSame},
	{"Then", `no entry of another workflow is listed`, (*scenario).onlyOwnEntries},
	{"Then", `the entry carries the configuration headers of the run`, (*scenario).entryConfiguration},
	{"Then", `the entry does not say that the failure callback succeeded`, (*scenario).callbackNotSucceeded},
	{"Then", `the date is inclusive`, (*scenario).dateIsInclusive},
	{"Then", `the entry has no field "(\w+)"`, (*scenario).entryLacks},
	{"Then", `the time "(\w+)" of the entry lies between the trigger and now`, (*scenario).entryTime},
	{"Then", `the entry reflects the (address|method|retries|forwarded headers|id|failure callback) of the run`, (*scenario).entryReflects},
	{"Then", `the (status|headers|body) of the entry is that of the last attempt`, (*scenario).entryOfLast},
	{"Then", `the entry carries the (payload|label|flow-control key|binary payload) of the run`, (*scenario).entryCarries},
	{"Then", `the entry carries the response body in base64`, (*scenario).entryBase64},
	{"Then", `the entry holds the outcome of the failure callback`, (*scenario).callbackStored},
	{"Then", `the outcome of the failure callback has the field "(\w+)" as ([\w ]+)`, (*scenario).outcomeHas},
	{"Then", `the ids of the entries differ`, (*scenario).idsDiffer},
	{"Then", `every entry is seen exactly once`, (*scenario).everyEntryOnce},
	{"Then", `the last page has no cursor`, (*scenario).endsWithoutCursor},
	{"Then", `the queue holds all entries that fit, and no other`, (*scenario).queueFits},
}

// entryID is the identity of an entry.
func entryID(e any) string {
	id, _ := check.Text(e, "/dlqId")
	return id
}

// buried waits until a run is in the queue.
func (s *scenario) buried(run string) (any, error) {
	var entry any
	err := s.AfterRun(func() error {
		entries, err := s.EntriesOf(run)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return s.Failure("the failed run is not in the dead letter queue", "an entry of "+run, "none")
		}
		entry = entries[0]
		return nil
	})
	return entry, err
}

// die triggers a run that fails, and waits for its entry.
func (s *scenario) die() error {
	s.configure(header.ForwardPrefix+"X-Order", "order-7")
	if name := s.Bound("headers", "label"); name != "" && s.runs.header.Get(name) == "" {
		s.configure(name, s.Name("label"))
	}
	if err := s.triggerIt(); err != nil {
		return err
	}
	entry, err := s.buried(s.runs.id)
	if err != nil {
		return harness.Prerequisite(err)
	}
	s.runs.entry = entry
	s.runs.entries = append(s.runs.entries, entry)
	return nil
}

func (s *scenario) deadRun() error {
	if err := s.workflowFails(http.StatusServiceUnavailable); err != nil {
		return err
	}
	return s.die()
}

func (s *scenario) deadRunWithCallback() error {
	name, err := s.Binding("headers", "failure_callback")
	if err != nil {
		return err
	}
	s.runs.callback = s.Endpoint("failure callback")
	s.runs.callback.Aside = true
	s.runs.callback.Answer(&receiver.Reply{Status: http.StatusAccepted, Body: "noted", Header: http.Header{"X-Noted": {"yes"}}})
	s.configure(name, s.runs.callback.URL)
	return s.deadRun()
}

func (s *scenario) deadRuns(n int) error {
	if most := s.Suite.Target.Limits.MaxDLQEntries; most > 0 && n > most {
		return harness.Inconclusive(report.BudgetExhausted, "limits.max_dlq_entries: %d (it needs %d)", most, n)
	}
	if err := s.workflowFails(http.StatusServiceUnavailable); err != nil {
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
	for _, id := range s.runs.ids {
		entry, err := s.buried(id)
		if err != nil {
			return harness.Prerequisite(err)
		}
		s.runs.entry = entry
		s.runs.entries = append(s.runs.entries, entry)
	}
	return nil
}

// twoDeadRuns differ in workflow, status, label and failure callback.
func (s *scenario) twoDeadRuns() error {
	if err := s.deadRunWithCallback(); err != nil {
		return err
	}
	if err := harness.Prerequisite(s.callbackStored()); err != nil {
		return err
	}
	s.runs.entries[0] = s.runs.entry
	s.runs.header.Del(s.Bound("headers", "failure_callback"))
	if name := s.Bound("headers", "label"); name != "" {
		s.configure(name, s.Name("label")+"2")
	}
	s.Longer("the workflow")
	if s.Clock.Virtual() {
		if err := s.Clock.Pass(s.Context, 5*1e9); err != nil {
			return err
		}
	}
	if err := s.workflowFails(http.StatusInternalServerError); err != nil {
		return err
	}
	return s.die()
}

func (s *scenario) readQueue() error {
	if s.runs.id == "" {
		return s.readFirstEntries()
	}
	entries, err := s.EntriesOf(s.runs.id)
	if err == nil && len(entries) > 0 {
		s.runs.entry = entries[0]
	}
	return err
}

func (s *scenario) readFirstEntries() error { return s.first("listWorkflowDLQ", "dlq", "") }

func (s *scenario) readEntriesSized(size string) error {
	return s.first("listWorkflowDLQ", "dlq", size)
}

func (s *scenario) readEntriesPaged(size int) error {
	l, err := s.ReadList("listWorkflowDLQ", "dlq", size, s.ofScenario())
	s.runs.listed = l
	return err
}

// ofScenario filters the queue by the workflow of this scenario, where it can.
func (s *scenario) ofScenario() map[string]string {
	if s.Bound("dlq", "url") == "" {
		return nil
	}
	return map[string]string{"url": s.runs.peer.endpoint.URL}
}

func (s *scenario) readEntriesRacing(size int) error {
	added := false
	l, err := s.ReadList("listWorkflowDLQ", "dlq", size, s.ofScenario(), func() error {
		if added {
			return nil
		}
		added = true
		id, err := s.trigger(s.runs.peer, "{}")
		if err != nil {
			return err
		}
		_, err = s.buried(id)
		return harness.Prerequisite(err)
	})
	s.runs.listed = l
	return err
}

func (s *scenario) callbackAnswered() error {
	return s.Within(func() error {
		if len(s.runs.callback.Look()) == 0 {
			return s.Failure("the failure callback was not called", "a call", "none")
		}
		return nil
	})
}

func (s *scenario) deadAfter(n int) error {
	entry, err := s.buried(s.runs.id)
	if err != nil {
		return err
	}
	s.runs.entry = entry
	if got := s.runs.peer.executions(only); got != n {
		return s.Failure("tries of the step before the run was dead-lettered", strconv.Itoa(n), strconv.Itoa(got))
	}
	return nil
}

func (s *scenario) entriesOfRun(n int) error {
	if _, err := s.buried(s.runs.id); err != nil {
		return err
	}
	entries, err := s.EntriesOf(s.runs.id)
	if err == nil && len(entries) != n {
		err = s.Failure("entries of the run", strconv.Itoa(n), strconv.Itoa(len(entries)))
	}
	return err
}

func (s *scenario) notDead() error {
	entries, err := s.EntriesOf(s.runs.id)
	if err == nil && len(entries) > 0 {
		err = s.Failure("the run is in the dead letter queue", "no entry", harness.Shown(entries[0]))
	}
	return err
}

func (s *scenario) entryHas(field, kind string) error {
	return s.CheckField(s.runs.entry, "/"+field, kind)
}

func (s *scenario) entryLacks(field string) error {
	if v, has := check.At(s.runs.entry, "/"+field); has { // an empty text is not absent
		return s.Failure("the entry has "+field, "nothing", harness.Shown(v))
	}
	return nil
}

func (s *scenario) entryTime(field string) error { return s.between(s.runs.entry, "/"+field) }

func (s *scenario) entryReflects(what string) error {
	want, pointer := "", ""
	switch what {
	case "address":
		want, pointer = s.runs.peer.endpoint.URL, "/workflowUrl"
		if got, _ := check.Text(s.runs.entry, "/url"); got != want {
			return s.Failure("the url of the entry", want, got)
		}
	case "method":
		want, pointer = s.runs.peer.endpoint.Look()[0].Method, "/method"
	case "retries":
		want, pointer = s.runs.header.Get(header.Retries), "/maxRetries"
	case "id":
		want, pointer = s.runs.id, "/workflowRunId"
	case "failure callback":
		want, pointer = s.runs.callback.URL, "/failureCallback"
	case "forwarded headers":
		header, _ := check.At(s.runs.entry, "/header")
		m, _ := header.(map[string]any)
		for _, values := range m {
			if list, _ := values.([]any); slices.Contains(list, any("order-7")) {
				return nil
			}
		}
		return s.Failure("the header of the entry lacks what the run was triggered with", "order-7 under some name", harness.Shown(header))
	}
	got, _ := check.At(s.runs.entry, pointer)
	if harness.Plain(got) != want {
		return &report.Failure{Message: "the entry differs from the run", Pointer: pointer, Want: want, Got: harness.Shown(got), Exchange: s.Last()}
	}
	return nil
}

func (s *scenario) entryOfLast(what string) error {
	entry, err := s.buried(s.runs.id)
	if err != nil {
		return err
	}
	switch what {
	case "status":
		if got, _ := check.Integer(entry, "/responseStatus"); got != int64(s.runs.last) {
			return s.Failure("the status of the entry", fmt.Sprintf("%d, that of the last attempt", s.runs.last), strconv.FormatInt(got, 10))
		}
	case "body":
		if got, _ := check.Text(entry, "/responseBody"); got != "attempt 2" {
			return s.Failure("the body of the entry", "attempt 2", got)
		}
	case "headers":
		header, _ := check.At(entry, "/responseHeader")
		m, _ := header.(map[string]any)
		for name, values := range m {
			if list, _ := values.([]any); http.CanonicalHeaderKey(name) == "X-Attempt" && slices.Contains(list, any("2")) {
				return nil
			}
		}
		return s.Failure("the headers of the entry", "X-Attempt: 2", harness.Shown(header))
	}
	return nil
}

func (s *scenario) entryCarries(what string) error {
	name, want := "body", s.runs.payload
	switch what {
	case "label":
		name, want = "label", s.Name("label")
	case "flow-control key":
		name, want = "flow_key", s.Name("key")
	case "binary payload":
		name, want = "body_base64", base64.StdEncoding.EncodeToString([]byte(s.runs.payload))
	}
	field, err := s.Binding("fields.dlq", name)
	if err != nil {
		return err
	}
	if got, _ := check.Text(s.runs.entry, "/"+field); got != want {
		return &report.Failure{Message: "the entry lacks the " + what, Pointer: "/" + field, Want: want, Got: harness.Shown(s.runs.entry), Exchange: s.Last()}
	}
	return nil
}

func (s *scenario) entryBase64() error {
	field, err := s.Binding("fields.dlq", "response_body_base64")
	if err != nil {
		return err
	}
	entry, err := s.buried(s.runs.id)
	if err != nil {
		return err
	}
	got, _ := check.Text(entry, "/"+field)
	if want := base64.StdEncoding.EncodeToString([]byte("\xff\xfe\x00\x80")); got != want {
		return s.Failure("the response body in base64", want, harness.Shown(entry))
	}
	if _, has := check.At(entry, "/responseBody"); has {
		return s.Failure("responseBody beside the base64 form", "nothing", harness.Shown(entry))
	}
	return nil
}

// callbackStored waits for an outcome that is final.
func (s *scenario) callbackStored() error {
	return s.Eventually(func() error {
		entry, err := s.buried(s.runs.id)
		if err != nil {
			return err
		}
		s.runs.entry = entry
		status, _ := check.Integer(entry, "/failureCallbackInfo/responseStatus")
		if status != http.StatusAccepted {
			return s.Failure("the outcome of the failure callback is not stored", "failureCallbackInfo with responseStatus 202", harness.Shown(entry))
		}
		state, _ := check.Text(entry, "/failureCallbackInfo/state")
		s.Observe("failureCallbackInfo.state", state)
		if state != "CALLBACK_SUCCESS" {
			return s.Failure("the state of a failure callback that was accepted", "CALLBACK_SUCCESS", state)
		}
		if body, _ := check.Text(entry, "/failureCallbackInfo/responseBody"); body != "noted" {
			return s.Failure("the response body of the failure callback", "noted", body)
		}
		return nil
	})
}

func (s *scenario) outcomeHas(field, kind string) error {
	if err := s.callbackStored(); err != nil {
		return err
	}
	return s.CheckField(s.runs.entry, "/failureCallbackInfo/"+field, kind)
}

func (s *scenario) idsDiffer() error {
	seen := map[string]bool{}
	for _, e := range s.runs.entries {
		id := entryID(e)
		if id == "" || seen[id] {
			return s.Failure("the ids of the entries", "one of its own for each", harness.Shown(s.runs.entries))
		}
		seen[id] = true
	}
	return nil
}

func (s *scenario) everyEntryOnce() error {
	return s.ListedOnce(&s.runs.listed, s.runs.entries, entryID)
}

func (s *scenario) endsWithoutCursor() error {
	l := &s.runs.listed
	if last := l.Cursors[len(l.Cursors)-1]; last != "-" {
		return s.Failure("the last page", "no cursor at all", strconv.Quote(last))
	}
	return nil
}

func (s *scenario) queueFits() error {
	var known []any
	for _, id := range s.runs.ids {
		entries, err := s.EntriesOf(id)
		if err != nil {
			return err
		}
		known = append(known, entries...)
	}
	return s.fitting(known, entryID)
}
