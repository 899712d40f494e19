package step

import (
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
)

// combinationSteps configure a message or a run in every way at once, follow runs through several
// restarts, and compare values with each other.
var combinationSteps = []step{
	{"Given", `a dead-lettered run that is configured in every way(?: and (tried three times|delayed|held by a key|restarted once|restarted twice))?`, (*Scenario).deadConfigured},
	{"Given", `the run was restarted (once|twice) and failed again`, (*Scenario).restartedBefore},
	{"Then", `the log of the new run is that of the failed one, but for its ids and times`, (*Scenario).logIsAlike},
	{"When", `everything about the run is read`, (*Scenario).readEverything},
	{"Then", `the credential is in nothing that the target sent`, (*Scenario).credentialNowhere},
}

// configuration is what the forwarded headers of a run have, and a value that is
// empty and one that is repeated, both of which a target may lose.
var configuration = [][2]string{{"X-Order", "order-7"}, {"X-Empty", ""}, {"X-Part", "order-42"}, {"X-Part", "order-43"}}

// restartAndFail restarts the entry of the run and returns that of the new run.
func (s *Scenario) restartAndFail() (entry any, err error) {
	if err = s.Assume(s.restartIt(), "REQ-RST-001", "REQ-RST-002"); err == nil {
		entry, err = s.buried(s.runs.restarted.run)
	}
	return entry, s.Assume(err, "REQ-DLQ-005")
}

// restartedBefore makes the last restarted run the scenario's own.
func (s *Scenario) restartedBefore(times string) error {
	if err := s.know(s.runs.id); err != nil {
		return err
	}
	for range map[string]int{"once": 1, "twice": 2}[times] {
		entry, err := s.restartAndFail()
		if err != nil {
			return err
		}
		s.runs.id, s.runs.entry = s.runs.restarted.run, entry
	}
	return nil
}

// runOf returns the run of an event or an entry.
func runOf(item any) string {
	id, _ := check.Text(item, "/workflowRunId")
	return id
}

// repeated are the fields of events whose values are the same in a repeated run.
var repeated = []string{"call_body", "call_method", "call_response_body", "call_response_status", "call_url", "invoked_body", "invoked_url", "response_body", "response_status", "sleep_for", "step_id"}

// likeness is what an event tells of its step. Values that differ from run to run must only be there.
func (s *Scenario) likeness(e any) string {
	var parts []string
	tell := func(pointer string, whole bool) {
		v, has := check.At(e, pointer)
		if has && whole {
			parts = append(parts, pointer+": "+harness.Plain(v))
		} else if has {
			parts = append(parts, pointer)
		}
	}
	for _, pointer := range []string{"/state", "/stepInfo/stepName", "/stepInfo/stepType", "/stepInfo/callType", "/stepInfo/concurrent"} {
		tell(pointer, true)
	}
	for section, prefix := range map[string]string{"log": "/", "step": "/stepInfo/"} {
		for name, field := range s.Suite.Target.Bindings.Fields[section] {
			tell(prefix+field, slices.Contains(repeated, name))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// logIsAlike compares what the log tells of the steps, in the states of the document.
func (s *Scenario) logIsAlike(events runLog) error {
	told := func(events []any) map[string]any {
		all := map[string]any{}
		for _, e := range events {
			if slices.Contains(slices.Concat(check.MessageStates, check.RunStates), eventState(e)) {
				all[s.likeness(e)] = e
			}
		}
		return all
	}
	failed, err := s.EventsOf(runOf(s.runs.known[0])) // again: they may have been written late
	if err != nil {
		return err
	}
	before, now := told(failed), told(events)
	for key := range before {
		if now[key] == nil {
			return s.FailureOf(events, "the log of the new run lacks an event of the failed one", key, eventStates(events))
		}
	}
	for key, e := range now {
		if before[key] == nil {
			return s.FailureOf(e, "the log of the new run has an event that the failed one had not", eventStates(failed), key)
		}
	}
	return nil
}

// readEverything waits for the outcome of the failure callback, which other scenarios judge.
func (s *Scenario) readEverything() error {
	if s.runs.callback != nil {
		_ = s.callbackStored() // it may never come
	}
	return s.Assume(harness.InTurn(s.readQueue, s.readLogs), "REQ-DLQ-001", "REQ-LOG-001")
}

// credentialNowhere looks into all deliveries and answers so far, one delivery at least.
func (s *Scenario) credentialNowhere() error {
	if s.Named[theDestination] != nil && !s.prepared.started.IsZero() {
		if err := s.arrives(""); err != nil {
			return s.Assume(err, "REQ-PUB-001")
		}
	}
	for _, secret := range []string{string(s.Auth.Bearer), string(s.Auth.Basic.Password)} {
		if err := s.Leak(secret); err != nil {
			return err
		}
	}
	return nil
}
