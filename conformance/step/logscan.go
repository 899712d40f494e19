package step

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
)

// logScanSteps check complete runs: all their events, for every kind of end.
var logScanSteps = []step{
	{"Then", `no (event of another run|entry of another workflow) is listed`, (*Scenario).onlyOwn},
	{"Then", `every message of the run is delivered`, (*Scenario).everyMessageDelivered},
	{"Then", `one message of the run has the step type "(\w+)" in all its events, and no other has it`, (*Scenario).oneMessageOfType},
}

func (s *Scenario) onlyOwn(others string) error {
	pointer, own, name := "/workflowRunId", s.runs.id, "an event"
	if others == "entry of another workflow" {
		if _, err := s.Binding("dlq", "url"); err != nil { // nothing was filtered
			return err
		}
		pointer, own, name = "/workflowUrl", s.runs.peer.Endpoint.URL, "an entry"
	}
	for _, item := range s.runs.listed.Items {
		if err := s.Equal(item, pointer, name+" that the filter excludes was listed", own); err != nil {
			return err
		}
	}
	return nil
}

// everyMessageDelivered waits until each message that was created is delivered.
func (s *Scenario) everyMessageDelivered(events runLog) error {
	var created, delivered []string
	for _, e := range events {
		id, _ := check.Text(e, "/stepInfo/messageId")
		switch eventState(e) {
		case "CREATED":
			created = append(created, id)
		case "DELIVERED":
			delivered = append(delivered, id)
		}
	}
	if len(created) == 0 {
		return s.lacks("CREATED", events)
	}
	for _, id := range created {
		if !slices.Contains(delivered, id) {
			return s.FailureOf(events, "the message "+id+" of a run that succeeded", "CREATED and DELIVERED", eventStates(events))
		}
	}
	return nil
}

// oneMessageOfType collects the step types of each message over all its events: the type of
// a message must not change.
func (s *Scenario) oneMessageOfType(events runLog, kind string) error {
	types := map[string][]string{} // message -> its types
	for _, e := range events {
		id, _ := check.Text(e, "/stepInfo/messageId")
		if t, ok := check.Text(e, "/stepInfo/stepType"); ok && !slices.Contains(types[id], t) {
			types[id] = append(types[id], t)
		}
	}
	n := 0
	for id, list := range types {
		if slices.Contains(list, kind) {
			n++
			if len(list) > 1 {
				return s.FailureOf(events, "the step type of the message "+id, kind, strings.Join(list, ", "))
			}
		}
	}
	if n != 1 {
		return s.FailureOf(events, "messages with the step type "+kind, "1", fmt.Sprint(n))
	}
	return nil
}
