package step

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/workflow"
)

func eventState(e any) string {
	t, _ := check.Text(e, "/state")
	return t
}

// endStates lists the states in which a run has ended.
var endStates = []string{"RUN_CANCELED", "RUN_FAILED", "RUN_SUCCESS"}

func eventStates(events []any) string {
	var list []string
	for _, e := range events {
		list = append(list, eventState(e))
	}
	slices.Reverse(list)
	return strings.Join(list, " ")
}

// eventuallyEvent waits for an event of the run.
func (s *Scenario) eventuallyEvent(what string, fits func(any) bool) error {
	return s.eventually("the event "+what, s.runs.id, func(events []any) error {
		if slices.ContainsFunc(events, fits) {
			return nil
		}
		return s.FailureOf(events, "the log of the run lacks "+what, what, eventStates(events))
	})
}

// eventually judges the events of a run again until they pass: one may come after a wait.
func (s *Scenario) eventually(what, run string, judge func(events []any) error) error {
	budget := s.Suite.Target.Timing.SettleBudget + time.Duration(s.waitSeconds())*time.Second
	return s.Await(what, budget, func() error {
		events, err := s.EventsOf(run)
		if err != nil {
			return err
		}
		return judge(events)
	})
}

// runRecorded waits for a state in the log of the run, at any position.
func (s *Scenario) runRecorded(want string) error {
	return s.eventuallyEvent("the event "+want, inState(want))
}

func (s *Scenario) messageRecorded(want string) error {
	return s.eventuallyEvent("a message-level event "+want, func(e any) bool {
		_, has := check.At(e, "/stepInfo")
		return eventState(e) == want && has
	})
}

// ended waits until the log of the run has the end state want.
func (s *Scenario) ended(want string) error {
	return s.Await("the end "+want, s.RunBudget(), func() error {
		events, err := s.EventsOf(s.runs.id)
		if err != nil || slices.ContainsFunc(events, inState(want)) {
			return err
		}
		return s.FailureOf(events, "the run did not end as expected", want, eventStates(events))
	})
}

// inState reports for events whether they are in one of the states.
func inState(states ...string) func(e any) bool {
	return func(e any) bool { return slices.Contains(states, eventState(e)) }
}

// runSucceeds waits until the log shows the success of the run. Another end fails only when
// the budget is spent, since events may be logged late.
func (s *Scenario) runSucceeds() error { return s.ended("RUN_SUCCESS") }

func (s *Scenario) runFails() error { return s.ended("RUN_FAILED") }

func (s *Scenario) runEnds(other, how string) error {
	if other != "" {
		s.runs.id = s.runs.restarted.run
	}
	if how == "fails" {
		return s.runFails()
	}
	return s.runSucceeds()
}

// settled repeats a judgement of the log: in real time within timing.settle_budget, since a target
// may write its log late. A moved clock stays where it is.
func (s *Scenario) settled(judge func() error) error {
	if !s.Clock.Virtual() {
		return s.Eventually(judge)
	}
	if err := s.Clock.Pass(s.Context, 0); err != nil {
		return err
	}
	return judge()
}

// runLog are the events of a run. The engine reads it for steps that take it first, and repeats these as
// check does.
type runLog []any

// check judges the log of the run. Nothing follows from an empty log.
func (s *Scenario) check(judge func(events []any) error) error {
	return s.settled(func() error {
		events, err := s.EventsOf(s.runs.id)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return s.lacks("events", events)
		}
		return judge(events)
	})
}

// holdsExactly counts the events of a state, or the ends of the run.
func (s *Scenario) holdsExactly(want int, state string) error {
	what, states := "events "+state, []string{state}
	if state == "" {
		what, states = "ends", endStates
	}
	return s.unlessOutwaited(s.check(func(events []any) error {
		n := len(slices.DeleteFunc(slices.Clone(events), func(e any) bool { return !inState(states...)(e) }))
		if n != want {
			return s.FailureOf(events, what+" of the run", strconv.Itoa(want), fmt.Sprintf("%d: %s", n, eventStates(events)))
		}
		return nil
	}))
}

// triedBeforeFailed compares times in real time only: the receiver uses the local clock,
// which is not comparable with a moved one.
func (s *Scenario) triedBeforeFailed(events runLog, n int) error {
	if got := s.runs.peer.Executions(onlyStep); got != n {
		return s.Failure("tries of the step", strconv.Itoa(n), strconv.Itoa(got))
	}
	all := s.runs.peer.Endpoint.Look()
	for _, e := range events {
		failed, _ := check.Integer(e, "/time")
		if eventState(e) == "RUN_FAILED" && !s.Clock.Virtual() && failed < all[len(all)-1].At.Add(s.Clock.Offset-s.Skew()).UnixMilli() {
			return s.FailureAt(e, "/time", "the run failed before its last try", "RUN_FAILED after it")
		}
	}
	return nil
}

// neverExecuted waits until no further execution can follow, since a step may be executed
// late.
func (s *Scenario) neverExecuted(name string) error {
	if err := s.AwaitQuiet(nil); err != nil {
		return err
	}
	if n := s.runs.peer.Executions(name); n > 0 {
		return s.Failure("executions of the step "+name, "none", strconv.Itoa(n))
	}
	return nil
}

// namesInvoker compares what the start of the invoked run names with the run that invoked it.
func (s *Scenario) namesInvoker(events runLog) error {
	if _, err := s.Binding("fields.log", "invoker_run_id"); err != nil {
		return err
	}
	own := map[string]string{"invoker_run_id": s.runs.id, "invoker_url": s.runs.peer.Endpoint.URL}
	for _, e := range events {
		created, _ := check.At(e, "/workflowCreatedAt")
		own["invoker_created_at"] = harness.Plain(created)
		if err := s.names(e, own, false); err != nil {
			return err
		}
	}
	return s.settled(func() error {
		events, err := s.EventsOf(workflow.InvokedID(s.runs.id, 0))
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := s.names(e, own, eventState(e) == "RUN_STARTED"); err != nil {
				return err
			}
		}
		if !strings.Contains(eventStates(events), "RUN_STARTED") {
			return s.FailureOf(events, "the log of the invoked run lacks its start", "RUN_STARTED", eventStates(events))
		}
		return nil
	})
}

// names requires the values of bound fields on an event, or none of them.
func (s *Scenario) names(e any, values map[string]string, wanted bool) error {
	for name, want := range values {
		field := s.Bound("fields.log", name)
		if field == "" {
			continue
		}
		got, has := harness.Given(e, "/"+field)
		if has && !wanted {
			return s.FailureAt(e, "/"+field, field+" is on an event "+eventState(e)+" of a run that it does not belong to", "only on RUN_STARTED of the invoked run")
		}
		if wanted && harness.Plain(got) != want {
			return s.FailureAt(e, "/"+field, "what the event names of the invoker", want)
		}
	}
	return nil
}

func (s *Scenario) idsIncrease(events runLog) error {
	field, err := s.Binding("fields.step", "step_id")
	if err != nil {
		return err
	}
	ids := map[string]int64{}
	for _, e := range events {
		name, _ := check.Text(e, "/stepInfo/stepName")
		if id, has := check.Integer(e, "/stepInfo/"+field); has {
			ids[name] = id
		}
	}
	if ids["charge"] <= ids["reserve"] {
		return s.FailureOf(events, "the step ids", "that of charge above that of reserve", harness.Shown(ids))
	}
	return nil
}
