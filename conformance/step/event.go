package step

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
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

// recorded waits for a state in the log of the run, at any position.
func (s *Scenario) recorded(of, want string) error {
	return s.eventuallyEvent(want+" of "+of+" run", func(e any) bool {
		_, has := check.At(e, "/stepInfo")
		return eventState(e) == want && (has || of == "the")
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

// check judges the log of a run. Nothing follows from an empty log.
func (s *Scenario) check(run string, judge func(events []any) error) error {
	return s.settled(func() error {
		events, err := s.EventsOf(run)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return s.lacks("events", events)
		}
		return judge(events)
	})
}

// holdsExactly counts the events of a state, or the ends of the run. The other run is the last one.
func (s *Scenario) holdsExactly(other string, want int, state string) error {
	if other != "" {
		s.runs.id = s.runs.ids[len(s.runs.ids)-1]
	}
	what, states := "events "+state, []string{state}
	if state == "" {
		what, states = "ends", endStates
	}
	return s.unlessOutwaited(s.check(s.runs.id, func(events []any) error {
		n := len(slices.DeleteFunc(slices.Clone(events), func(e any) bool { return !inState(states...)(e) }))
		if n != want {
			return s.FailureOf(events, what+" of the run", strconv.Itoa(want), fmt.Sprintf("%d: %s", n, eventStates(events)))
		}
		return nil
	}))
}

// tried counts executions of the step, not deliveries: delivery is at least once, so that a repeated one is
// legal. It compares times in real time only: the receiver uses the local clock, which is not comparable
// with a moved one.
func (s *Scenario) tried(n int, before string) error {
	if got := s.runs.peer.Executions(onlyStep); got != n || before == "" {
		return s.counted("tries of the step", n, got)
	}
	all := s.runs.peer.Endpoint.Look()
	return s.check(s.runs.id, func(events []any) error {
		for _, e := range events {
			failed, _ := check.Integer(e, "/time")
			if eventState(e) == "RUN_FAILED" && !s.Clock.Virtual() && failed < all[len(all)-1].At.Add(s.Clock.Offset-s.Skew()).UnixMilli() {
				return s.FailureAt(e, "/time", "the run failed before its last try", "RUN_FAILED after it")
			}
		}
		return nil
	})
}

// neverExecuted waits until no further execution can follow, since a step may be executed
// late.
func (s *Scenario) neverExecuted(name string) error {
	if err := s.AwaitQuiet(nil); err != nil {
		return err
	}
	return s.counted("executions of the step "+name, 0, s.runs.peer.Executions(name))
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
