package step

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/spec/header"
)

// running is the workflow of a scenario with its runs.
type running struct {
	peer       *workflow.Peer
	child      *workflow.Peer // the workflow that an Invoke starts
	header     http.Header
	payload    string
	unlabelled bool
	id         string // of the run that the scenario is about
	ids        []string
	number     int       // of runs that were triggered
	triggered  time.Time // target's time, before the trigger
	callback   *receiver.Endpoint
	entry      any   // of the run in the dead letter queue
	entries    []any // of all runs of the scenario
	listed     harness.Listing
	known      []any  // events that the list must hold
	dated      string // binding of the date filter: from or to
	restarted  restart
}

var runSteps = []step{
	{"Given", `a workflow with:`, (*Scenario).workflowWith},
	{"Given", `a run with:`, (*Scenario).runWith},
	{"Given", `the workflow is triggered( again)? and in progress`, (*Scenario).inProgress},
	{"Given", `a finished run`, (*Scenario).finishedRun},
	{"Given", `a waiting run`, (*Scenario).waitingRun},
	{"Given", `a finished run with more than 1000 log events`, (*Scenario).longRun},
	{"When", `the workflow is triggered(?: and (succeeds|fails|its wait times out|its event is notified))?`, (*Scenario).triggerUntil},
	{"When", `the run is cancelled`, (*Scenario).cancelRun},
	{"Then", `(every|some) event of the (run|new run|invoked run)(?: where "([^"]+)" is( not)? "([^"]+)")? holds:`, (*Scenario).eventsHold},
	{"Then", `the (new )?run (succeeds|fails)`, (*Scenario).runEnds},
	{"Then", `(the|a message of the) run is recorded as "(\w+)"`, (*Scenario).recorded},
	{"Then", `the log( of the other run)? holds exactly (\d+) events? (?:"(\w+)"|of an ended run)`, (*Scenario).holdsExactly},
	{"Then", `its step was tried exactly (\d+) times?( before the run failed)?`, (*Scenario).tried},
	{"Then", `the step "([^"]+)" is never executed`, (*Scenario).neverExecuted},
	{"Then", `the ids of the recorded steps increase`, (*Scenario).idsIncrease},
}

// onlyStep is the name of the step in workflows with one step.
const onlyStep = "work"

// sleepSeconds is how long steps sleep: long enough to be observed in progress.
const sleepSeconds = 60

// waitSeconds is the timeout of waits. In real time it allows for the requests before the
// notification, which limits.rps may delay, or the target.
func (s *Scenario) waitSeconds() int {
	if s.Clock.Virtual() {
		return sleepSeconds
	}
	seconds := 20 + int(6*s.Suite.Slowest().Seconds())
	if rps := s.Suite.Target.Limits.RPS; rps > 0 {
		seconds += int(20 * float64(s.Suite.Concurrency) / rps)
	}
	return seconds
}

// outwaited is inconclusive when the wait or the sleep of the run may be over by now: nothing
// follows for a run in progress. Otherwise it returns err.
func (s *Scenario) outwaited(err error) error {
	at, clockErr := s.Clock.Target(s.Context)
	if clockErr != nil {
		return clockErr
	}
	for _, st := range s.runs.peer.Steps {
		waits := st.Kind == "Wait" || strings.HasPrefix(st.Kind, "Sleep")
		if least := time.Duration(st.Seconds) * time.Second; waits && !s.Clock.Virtual() && at.Sub(s.runs.triggered) >= least {
			return harness.Inconclusive(report.PrerequisiteFailed, "the step %q of the run waits for %s, which may have passed before the end of this step", st.Name, least)
		}
	}
	return err
}

// unlessOutwaited is outwaited for a failure.
func (s *Scenario) unlessOutwaited(err error) error {
	if err == nil {
		return nil
	}
	return s.outwaited(err)
}

// newWorkflow makes a workflow with these steps. It returns an error without a driver that
// triggers runs, or when the target has neither logs nor a dead letter queue.
func (s *Scenario) newWorkflow(steps ...workflow.Step) error {
	if reads, recovers := s.Claimed("listWorkflowMessageLogs"), s.Claimed("listWorkflowDLQ"); reads != nil && recovers != nil {
		return reads
	}
	if _, err := s.Driver("run"); err != nil {
		return err
	}
	s.runs.peer = workflow.NewPeer(s.Scenario, "the workflow", steps...)
	return nil
}

// workflowWith makes a workflow from a table: the name of each step, its type, and how it goes.
func (s *Scenario) workflowWith(t *godog.Table) error {
	var steps []workflow.Step
	for _, row := range rowsOf(t) {
		st := s.stepOf(row.Want)
		st.Name = row.Place
		steps = append(steps, st)
	}
	return s.newWorkflow(steps...)
}

// stepOf returns a step by its type and how it goes, and makes the endpoint that it needs. One that fails
// with two statuses answers each attempt differently, so that an entry shows which answer it has.
func (s *Scenario) stepOf(text string) workflow.Step {
	kind, how, _ := strings.Cut(text, " ")
	st := workflow.Step{Name: onlyStep, Kind: kind, Seconds: sleepSeconds, Event: s.Name("event")}
	switch kind {
	case "Wait":
		st.Seconds = s.waitSeconds()
	case "Call":
		e := s.Endpoint("third party")
		e.Respond = func(got *receiver.Received) receiver.Reply {
			got.Looked.Store(true)
			return receiver.Reply{Status: http.StatusAccepted, Body: "called", Header: http.Header{"X-Called": {"yes"}}}
		}
		st.URL = e.URL
	case "Invoke":
		s.runs.child = workflow.NewPeer(s.Scenario, "the invoked workflow", workflow.Step{Name: "inner", Kind: "Run"})
		st.URL = s.runs.child.Endpoint.URL
	}
	if how == "beside the others" {
		st.Group = 1
	}
	if lasts, isTime := strings.CutPrefix(how, "for "); isTime {
		d, _ := time.ParseDuration(lasts)
		st.Timeout, st.Seconds = lasts, int(d.Seconds())
	}
	if times, status, fails := strings.Cut(how, " with "); fails {
		failing := &st
		if kind == "Invoke" {
			failing = &s.runs.child.Steps[0]
		}
		failing.Fails, failing.Body, failing.Header = -1, "out of order", http.Header{"X-Fault": {"permanent", "total"}}
		if n, _ := fmt.Sscanf(status, "%d, then with %d", &failing.Status, &failing.Later); n > 1 {
			failing.Body, failing.Header = "attempt #", http.Header{"X-Attempt": {"#"}}
		}
		if strings.HasSuffix(status, "not UTF-8") {
			failing.Body = notUTF8
		}
		if times == "fails once" {
			failing.Fails = 1
		}
	}
	return st
}

// notUTF8 is a text that an entry can have only in base64.
const notUTF8 = "\xff\xfe\x00\x80"

// failing makes a workflow whose only step always fails.
func (s *Scenario) failing() error { return s.newWorkflow(s.stepOf("Run fails with 503")) }

// Configure sets a configuration header of the runs that are triggered.
func (s *Scenario) Configure(name, value string) {
	if s.runs.header == nil {
		s.runs.header = http.Header{}
	}
	s.runs.header.Set(name, value)
}

// runWith configures the runs that are triggered by a table.
func (s *Scenario) runWith(t *godog.Table) (err error) {
	for _, row := range rowsOf(t) {
		switch row.Place {
		case "payload":
			if s.runs.payload = row.Want; row.Want == "not UTF-8" {
				s.runs.payload = notUTF8
			}
		case "result":
			if s.runs.peer.Result = row.Want; row.Want == "of 20000 characters" {
				s.runs.peer.Result = `"` + strings.Repeat("0123456789", 2000) + `"`
			}
		case "label":
			if s.runs.unlabelled = row.Want == "none"; !s.runs.unlabelled {
				err = s.option(s.Configure, "{label}", row.Want)
			}
		default:
			err = s.option(s.Configure, row.Place, row.Want)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trigger starts a run of a workflow and returns its id. Unless a step sets retries there
// are none, so that runs fail without delay.
func (s *Scenario) trigger(p *workflow.Peer, body string) (string, error) {
	if _, err := s.Driver("run"); err != nil {
		return "", err
	}
	if s.runs.header.Get(header.Retries) == "" {
		s.Configure(header.Retries, "0")
	}
	if s.runs.triggered.IsZero() {
		var err error
		if s.runs.triggered, err = s.Clock.Target(s.Context); err != nil {
			return "", err
		}
	}
	id := fmt.Sprintf("wfr_%sr%s", s.Key, strings.Repeat("1", s.runs.number+1)) // each id begins with the previous one
	if s.runs.number > 5 {
		id = fmt.Sprintf("wfr_%sr2%d", s.Key, s.runs.number)
	}
	s.runs.number++
	id, err := s.Trigger(p.Endpoint.URL, id, body, s.runs.header)
	value := s.runs.header.Get(s.Bound("headers", "flow_value"))
	if i, ok := errors.AsType[*harness.NoVerdict](err); ok && value != "" && i.Reason == report.DriverFailed && len(s.Suite.Target.Bindings.FlowValues) == 0 {
		err = harness.Inconclusive(report.BindingMissing, "bindings.flow_values: the target may not know the flow-control value %q; say in the target file what two of its values look like (%s)", value, i.Detail)
	}
	if err != nil {
		return "", err
	}
	s.runs.ids = append(s.runs.ids, id)
	return id, nil
}

// triggerRun starts a run of the workflow. The unusual spacing and numbers of its payload
// reveal a target that decodes and re-encodes it.
func (s *Scenario) triggerRun() error {
	if s.runs.payload == "" {
		s.runs.payload = fmt.Sprintf(`{ "order" : "%s",  "café":[1.0, 2e3] }`, s.Key)
	}
	id, err := s.trigger(s.runs.peer, s.runs.payload)
	s.runs.id = id
	return err
}

// inProgress triggers a run and waits for an event of a step after the first: a run that
// was just triggered has not started its steps. The first one stays the run that steps are about.
func (s *Scenario) inProgress(again string) error {
	own := s.runs.id
	if err := s.triggerRun(); err != nil {
		return err
	}
	err := s.Assume(s.eventuallyEvent("an event of the step in progress", func(e any) bool {
		kind, _ := check.Text(e, "/stepInfo/stepType")
		return kind != "" && kind != "Initial"
	}), "REQ-LOG-013")
	if again != "" {
		s.runs.id = own
	}
	return err
}

// success are the requirements that promise the event RUN_SUCCESS, or what it holds.
var success = []string{"REQ-LOG-008", "REQ-LOG-025"}

// triggerUntil triggers a run, which may have to end. Other scenarios judge how it ends. A wait is short in
// real time, since it passes.
func (s *Scenario) triggerUntil(end string) error {
	ends := s.Assuming(s.runSucceeds, success...)
	switch end {
	case "":
		return s.triggerRun()
	case "its event is notified":
		return s.triggerAndNotify()
	case "its wait times out":
		if !s.Clock.Virtual() {
			s.runs.peer.Steps[0].Seconds = 2
		}
	case "fails":
		ends = s.Assuming(s.runFails, "REQ-LOG-009", "REQ-DLQ-005")
	}
	return harness.InTurn(s.triggerRun, ends)
}

// triggerAndNotify notifies the event after the run is recorded as waiting: an earlier
// notification may be lost, which is legal.
func (s *Scenario) triggerAndNotify() error {
	if err := harness.InTurn(s.triggerRun, s.waits); err != nil {
		return err
	}
	if _, err := s.Demand(harness.Request{Operation: "notifyEvent", Vars: map[string]string{"eventId": s.Name("event")}, Body: []byte(`{"news":1}`)}); err != nil {
		return s.Assume(err) // the document does not have the operation
	}
	if err := s.outwaited(nil); err != nil {
		return err
	}
	return s.Assume(s.runSucceeds(), success...)
}

// cancelRun needs a driver: the interface document has no operation for it.
func (s *Scenario) cancelRun() error {
	if _, err := s.Drive("cancel", map[string]string{"runId": s.runs.id}); err != nil {
		return err
	}
	return s.outwaited(nil)
}

// finishedRun makes a run that has succeeded, and waits until its log no longer grows:
// later steps count its events.
func (s *Scenario) finishedRun() error {
	if err := s.newWorkflow(workflow.Step{Name: "reserve", Kind: "Run"}, workflow.Step{Name: "charge", Kind: "Run"}); err != nil {
		return err
	}
	return harness.InTurn(s.triggerRun, s.Assuming(s.runSucceeds, success...), s.still)
}

// still waits until the log of the run no longer grows: its last message may be recorded
// after its end.
func (s *Scenario) still() error {
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

// waitingRun makes a run whose log shows that it waits for an event.
func (s *Scenario) waitingRun() error {
	if err := s.newWorkflow(s.stepOf("Wait")); err != nil {
		return err
	}
	return harness.InTurn(s.triggerRun, s.waits)
}

// waits requires that the log shows the wait of the run.
func (s *Scenario) waits() error {
	return s.Assume(s.recorded("the", "WAITER_ADDED"), "REQ-LOG-019")
}

// longRun makes a run with more events than a page of the log contains. It waits as long as
// the run makes progress, since slow targets are legal.
func (s *Scenario) longRun() error { return s.Once("a long run", s.makeLongRun) }

func (s *Scenario) makeLongRun() error {
	var steps []workflow.Step
	for i := range 345 {
		steps = append(steps, workflow.Step{Name: fmt.Sprintf("step%d", i), Kind: "Run"})
	}
	if err := s.newWorkflow(steps...); err != nil {
		return err
	}
	if err := s.triggerRun(); err != nil {
		return err
	}
	for before := -1; ; {
		err := s.runSucceeds()
		if n := s.runs.peer.ExecutedSteps(); err != nil && n > before { // slow, but in progress
			before = n
			continue
		}
		if err != nil {
			return s.Assume(err, success...)
		}
		return s.still()
	}
}
