package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

// running is the workflow of a scenario and its runs.
type running struct {
	peer      *peer
	child     *peer // that an Invoke starts
	header    http.Header
	payload   string
	last      int    // status of the last attempt, where they differ
	id        string // of the run that the scenario is about
	ids       []string
	number    int       // of runs that were triggered
	triggered time.Time // target's time, before the trigger
	callback  *receiver.Endpoint
	entry     any   // of the run in the dead letter queue
	entries   []any // of all runs of the scenario
	listed    harness.Listing
	dated     string // the date filter that is asked with
	restarted restart
}

var runSteps = []step{
	{"Given", `a workflow with the steps? (".+")`, (*scenario).workflow},
	{"Given", `a workflow with a step of the type "(\w+)"`, (*scenario).workflowOfType},
	{"Given", `a workflow with a step of the type "(\w+)" before the step "([^"]+)"`, (*scenario).workflowBefore},
	{"Given", `a workflow whose only step always fails with status (\d+)`, (*scenario).workflowFails},
	{"Given", `a workflow whose only step fails once with status (\d+)`, (*scenario).workflowFailsOnce},
	{"Given", `the run is called by PUT`, (*scenario).calledByPut},
	{"Given", `the payload of the run is no UTF-8`, (*scenario).binaryPayload},
	{"Given", `a workflow whose only step fails with status (\d+) and then with status (\d+)`, (*scenario).workflowFailsTwice},
	{"Given", `a workflow whose only step always fails with a binary body`, (*scenario).workflowFailsBinary},
	{"Given", `a workflow whose steps (".+") run side by side after the step "([^"]+)"`, (*scenario).workflowParallel},
	{"Given", `the run is allowed (\d+) retr(?:y|ies)`, (*scenario).runRetries},
	{"Given", `the workflow is triggered and in progress`, (*scenario).inProgress},
	{"Given", `a finished run`, (*scenario).finishedRun},
	{"Given", `a waiting run`, (*scenario).waitingRun},
	{"Given", `a finished run with more than 1000 log events`, (*scenario).longRun},
	{"When", `the workflow is triggered`, (*scenario).triggerIt},
	{"When", `the run is cancelled`, (*scenario).cancelRun},
	{"When", `the workflow is triggered and its wait times out`, (*scenario).triggerIt},
	{"When", `the workflow is triggered and its event is notified`, (*scenario).triggerAndNotify},
	{"Then", `the run succeeds`, (*scenario).runSucceeds},
	{"Then", `the run fails`, (*scenario).runFails},
	{"Then", `the run is recorded as "(\w+)"`, (*scenario).runRecorded},
	{"Then", `a message of the run is recorded as "(\w+)"`, (*scenario).messageRecorded},
	{"Then", `the run has not ended`, (*scenario).notEnded},
	{"Then", `the log holds exactly (\d+) events? "(\w+)"`, (*scenario).holdsExactly},
	{"Then", `the log holds exactly 1 event of an ended run`, (*scenario).oneEnd},
	{"Then", `each delivered message was created before`, (*scenario).createdBeforeDelivered},
	{"Then", `only the event "RUN_SUCCESS" holds the response of the workflow`, (*scenario).responseOnSuccess},
	{"Then", `its step was tried exactly (\d+) times before the run failed`, (*scenario).triedBeforeFailed},
	{"Then", `the error details stand on the events "ERROR" and on no others`, (*scenario).errorDetails},
	{"Then", `the event "ERROR" holds the status (\d+) and the body of the workflow server`, (*scenario).errorResponse},
	{"Then", `the step "([^"]+)" is never executed`, (*scenario).neverExecuted},
	{"Then", `the start of the invoked run names the invoker`, (*scenario).namesInvoker},
	{"Then", `a step of the type "(\w+)" is recorded`, (*scenario).typeRecorded},
	{"Then", `every recorded step type is one of the documented list`, (*scenario).documentedTypes},
	{"Then", `the first message of the run has the step type "(\w+)"`, (*scenario).firstType},
	{"Then", `steps with the names "([^"]+)" and "([^"]+)" are recorded`, (*scenario).namesRecorded},
	{"Then", `the ids of the recorded steps increase`, (*scenario).idsIncrease},
	{"Then", `each step is recorded with the number of steps beside it`, (*scenario).concurrentSteps},
	{"Then", `the step information of the type "(\w+)" holds its (.+)`, (*scenario).stepHolds},
	{"Then", `the step of the wait says that it (timed out|did not time out)`, (*scenario).waitSays},
}

// only is the name of the step of a workflow that has but one.
const only = "work"

// sleeping is how long steps sleep, in seconds, and waiting how long they wait:
// long enough to be seen in progress.
const sleeping = 60

func (s *scenario) waitSeconds() int {
	if s.Clock.Virtual() {
		return sleeping
	}
	if rps := s.Suite.Target.Limits.RPS; rps > 0 { // requests before the notification wait for their turn
		return 8 + int(20*float64(s.Suite.Concurrency)/rps)
	}
	return 8
}

// newWorkflow needs a driver that triggers it.
func (s *scenario) newWorkflow(steps ...scripted) error {
	if reads, recovers := s.Claimed("listWorkflowMessageLogs"), s.Claimed("listWorkflowDLQ"); reads != nil && recovers != nil {
		return reads
	}
	if _, err := s.Driver("run"); err != nil {
		return err
	}
	s.runs.peer = newPeer(s.Scenario, "the workflow", steps...)
	return nil
}

func (s *scenario) workflow(names string) error {
	var steps []scripted
	for _, name := range quoted(names) {
		steps = append(steps, scripted{name: name, kind: "Run"})
	}
	return s.newWorkflow(steps...)
}

func (s *scenario) workflowOfType(kind string) error { return s.workflowBefore(kind, "") }

// workflowBefore has a step of a type, and then perhaps a plain one.
func (s *scenario) workflowBefore(kind, next string) error {
	st := scripted{name: only, kind: kind, seconds: sleeping, event: s.Name("event")}
	switch kind {
	case "Wait":
		st.seconds = s.waitSeconds()
	case "Call":
		e := s.Endpoint("third party")
		e.Respond = func(got *receiver.Received) receiver.Reply {
			got.Looked.Store(true)
			return receiver.Reply{Status: http.StatusAccepted, Body: "called", Header: http.Header{"X-Called": {"yes"}}}
		}
		st.target = e.URL
	case "Invoke":
		s.runs.child = newPeer(s.Scenario, "the invoked workflow", scripted{name: "inner", kind: "Run"})
		st.target = s.runs.child.endpoint.URL
	}
	steps := []scripted{st}
	if next != "" {
		steps = append(steps, scripted{name: next, kind: "Run"})
	}
	return s.newWorkflow(steps...)
}

func (s *scenario) workflowFails(status int) error {
	return s.newWorkflow(scripted{name: only, kind: "Run", fails: -1, status: status, body: "out of order", header: http.Header{"X-Fault": {"permanent"}}})
}

func (s *scenario) workflowFailsOnce(status int) error {
	return s.newWorkflow(scripted{name: only, kind: "Run", fails: 1, status: status})
}

func (s *scenario) workflowFailsTwice(first, second int) error {
	if err := s.newWorkflow(scripted{name: only, kind: "Run"}); err != nil {
		return err
	}
	p, calls := s.runs.peer, 0
	s.runs.last = second
	p.endpoint.Respond = func(got *receiver.Received) receiver.Reply {
		p.mu.Lock()
		defer p.mu.Unlock()
		calls++
		got.Looked.Store(true)
		status := first
		if calls > 1 {
			status = second
		}
		return p.answer(receiver.Reply{Status: status, Body: fmt.Sprintf("attempt %d", calls), Header: http.Header{"X-Attempt": {strconv.Itoa(calls)}}})
	}
	return nil
}

func (s *scenario) workflowFailsBinary() error {
	return s.newWorkflow(scripted{name: only, kind: "Run", fails: -1, status: http.StatusServiceUnavailable, body: "\xff\xfe\x00\x80"})
}

func (s *scenario) workflowParallel(names, before string) error {
	steps := []scripted{{name: before, kind: "Run"}}
	for _, name := range quoted(names) {
		steps = append(steps, scripted{name: name, kind: "Run", group: 1})
	}
	return s.newWorkflow(steps...)
}

// calledByPut needs the header that sets the method of a run.
func (s *scenario) calledByPut() error {
	name := s.Bound("headers", "method")
	if name == "" {
		return &harness.NoVerdict{Verdict: report.NotApplicable, Detail: "headers.method is not bound: every run of the target may be called by one method"}
	}
	s.configure(name, http.MethodPut)
	return nil
}

func (s *scenario) binaryPayload() error {
	s.runs.payload = "\xff\xfe\x00\x80"
	return nil
}

// configure sets a configuration header of the runs that are triggered.
func (s *scenario) configure(name, value string) {
	if s.runs.header == nil {
		s.runs.header = http.Header{}
	}
	s.runs.header.Set(name, value)
}

func (s *scenario) runRetries(n int) error {
	s.configure(header.Retries, strconv.Itoa(n))
	if name := s.Bound("headers", "retry_delay"); name != "" {
		s.configure(name, "1000")
	}
	return nil
}

// trigger starts a run of a workflow. Unless the scenario is about retries there
// are none, so that failing takes no time.
func (s *scenario) trigger(p *peer, body string) (string, error) {
	d, err := s.Driver("run")
	if err != nil {
		return "", err
	}
	trigger := d
	if d.Kind != "exec" {
		if d.Trigger == nil {
			return "", harness.Inconclusive(report.DriverMissing, "drivers.run has no trigger")
		}
		trigger = *d.Trigger
		trigger.Kind = "http"
	}
	if s.runs.header.Get(header.Retries) == "" {
		s.configure(header.Retries, "0")
	}
	if s.runs.triggered.IsZero() {
		if s.runs.triggered, err = s.Clock.Target(s.Context); err != nil {
			return "", err
		}
	}
	id := fmt.Sprintf("wfr_%sr%s", s.Key, strings.Repeat("1", s.runs.number+1)) // each begins with the one before
	if s.runs.number > 5 {
		id = fmt.Sprintf("wfr_%sr2%d", s.Key, s.runs.number)
	}
	s.runs.number++
	vars := map[string]string{"workflow": p.endpoint.URL, "runId": id, "body": body, "headers": s.triggerHeaders()}
	a, err := s.Run("run", trigger, vars, s.runs.header)
	if err != nil {
		return "", err
	}
	if trigger.Result != "" {
		if id, err = a.Result("run", trigger); err != nil {
			return "", err
		}
	}
	s.runs.ids = append(s.runs.ids, id)
	return id, nil
}

// triggerHeaders are the configuration of a run as JSON, for a driver that is a
// command.
func (s *scenario) triggerHeaders() string {
	plain := map[string]string{}
	for name, values := range s.Suite.Dialect.BrandHeader(s.runs.header) {
		plain[name] = strings.Join(values, ", ")
	}
	text, _ := json.Marshal(plain) // of texts
	return string(text)
}

func (s *scenario) triggerIt() error {
	if s.runs.payload == "" {
		s.runs.payload = fmt.Sprintf(`{ "order" : "%s",  "café":[1.0, 2e3] }`, s.Key)
	}
	id, err := s.trigger(s.runs.peer, s.runs.payload)
	s.runs.id = id
	return err
}

func (s *scenario) inProgress() error {
	if err := s.triggerIt(); err != nil {
		return err
	}
	return s.eventuallyEvent("an event of the step in progress", func(e any) bool {
		kind, _ := check.Text(e, "/stepInfo/stepType")
		return kind != "" && kind != "Initial"
	})
}

func (s *scenario) triggerAndNotify() error {
	if err := s.triggerIt(); err != nil {
		return err
	}
	if err := s.runRecorded("WAITER_ADDED"); err != nil {
		return err
	}
	a, err := s.Do(harness.Request{Operation: "notifyEvent", Vars: map[string]string{"eventId": s.Name("event")}, Body: []byte(`{"news":1}`)})
	if err != nil {
		return err
	}
	return a.Accepted()
}

func (s *scenario) cancelRun() error {
	_, err := s.Drive("cancel", map[string]string{"runId": s.runs.id})
	return err
}

func (s *scenario) finishedRun() error {
	if err := s.workflow(`"reserve" and "charge"`); err != nil {
		return err
	}
	if err := s.triggerIt(); err != nil {
		return err
	}
	if err := harness.Prerequisite(s.runSucceeds()); err != nil {
		return err
	}
	return s.still()
}

// still waits until the log of the run grows no more: its last message may be
// recorded after its end.
func (s *scenario) still() error {
	if s.Clock.Virtual() {
		return s.Clock.Pass(s.Context, 0)
	}
	for n, before := 0, -1; n < 2; n++ {
		if err := s.Clock.Pass(s.Context, s.Suite.Target.Timing.Poll.First); err != nil {
			return err
		}
		events, err := s.EventsOf(s.runs.id)
		if err != nil {
			return err
		}
		if len(events) != before {
			n = -1
		}
		before = len(events)
	}
	return nil
}

func (s *scenario) waitingRun() error {
	if err := s.workflowOfType("Wait"); err != nil {
		return err
	}
	if err := s.triggerIt(); err != nil {
		return err
	}
	return harness.Prerequisite(s.runRecorded("WAITER_ADDED"))
}

func (s *scenario) longRun() error {
	var steps []scripted
	for i := range 345 {
		steps = append(steps, scripted{name: fmt.Sprintf("step%d", i), kind: "Run"})
	}
	if err := s.newWorkflow(steps...); err != nil {
		return err
	}
	if err := s.triggerIt(); err != nil {
		return err
	}
	for before := -1; ; {
		err := s.runSucceeds()
		if n := s.runs.peer.progress(); err != nil && n > before { // it takes its time, and moves
			before = n
			continue
		}
		if err != nil {
			return harness.Prerequisite(err)
		}
		return s.still()
	}
}

// notEnded demands that a run is in progress while its step waits.
func (s *scenario) notEnded() error {
	n, seen, err := s.count(func(st string) bool { return slices.Contains(ends, st) })
	if err != nil || n == 0 {
		return err
	}
	at, err := s.Clock.Target(s.Context)
	if err != nil {
		return err
	}
	if !s.Clock.Virtual() && at.Sub(s.runs.triggered) >= time.Duration(s.waitSeconds())*time.Second {
		return harness.Inconclusive(report.PrerequisiteFailed, "the log was read when the wait of the run was over")
	}
	return s.Failure("the run has ended", "a run in progress", seen)
}
