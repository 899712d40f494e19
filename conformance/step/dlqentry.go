package step

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/spec/header"
)

// deadConfigured makes a dead-lettered run with every configuration header that the target
// file binds.
func (s *Scenario) deadConfigured() error {
	for _, c := range [][2]string{{"flow_key", s.Name("key")}, {"flow_value", s.FlowValue(FlowValues[0])}, {"method", http.MethodPut}} {
		if name := s.Bound("headers", c[0]); name != "" {
			s.Configure(name, c[1])
		}
	}
	if s.Bound("headers", "failure_callback") == "" {
		return s.deadRun()
	}
	return s.DeadRunWithCallback()
}

// deadOfAnother makes a dead-lettered run of another workflow and then restores the
// scenario's own run.
func (s *Scenario) deadOfAnother() error {
	runs, named := s.Runs, s.Named["the workflow"]
	delete(s.Named, "the workflow")
	err := s.deadRun()
	s.Named["the workflow"] = named
	runs.header, runs.number = s.Runs.header, s.Runs.number
	s.Runs = runs
	return err
}

// deadWithFailingCallback makes a dead-lettered run whose failure callback fails too. Its
// entry contains the state of the callback and must stay in the queue.
func (s *Scenario) deadWithFailingCallback() error {
	name, err := s.Binding("headers", "failure_callback")
	if err != nil {
		return err
	}
	s.Runs.Callback = s.Endpoint("failure callback")
	s.Runs.Callback.Aside = true
	s.Runs.Callback.Answer(&receiver.Reply{Status: http.StatusInternalServerError, Body: "broken"})
	s.Configure(name, s.Runs.Callback.URL)
	return s.deadRun()
}

// callbackNotSucceeded reads the entry three times, a second apart: the state may be stored late.
func (s *Scenario) callbackNotSucceeded() error {
	for range 3 {
		entry, err := s.buried(s.Runs.Id)
		if err != nil {
			return err
		}
		if state, _ := check.Text(entry, "/failureCallbackInfo/state"); state == "CALLBACK_SUCCESS" {
			return s.FailureAt(entry, "/failureCallbackInfo/state", "the state of a failure callback that was answered 500", "any but CALLBACK_SUCCESS")
		}
		if err := s.Clock.Pass(s.Context, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// entryKinds lists the fields of an entry in the interface document, with their types.
var entryKinds = [][2]string{
	{"dlqId", "string"}, {"messageId", "string"}, {"url", "string"}, {"method", "string"}, {"header", "header map"}, {"maxRetries", "integer"},
	{"notBefore", "integer"}, {"createdAt", "integer"}, {"callerIP", "string"}, {"workflowRunId", "string"}, {"workflowCreatedAt", "integer"},
	{"workflowUrl", "string"}, {"responseStatus", "integer"}, {"responseHeader", "header map"}, {"responseBody", "string"},
}

func (s *Scenario) entryHasAll() error {
	for _, field := range entryKinds {
		if err := s.CheckField(s.Runs.entry, "/"+field[0], field[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) callerIsAddress() error {
	if ip, _ := check.Text(s.Runs.entry, "/callerIP"); net.ParseIP(ip) == nil {
		return s.FailureAt(s.Runs.entry, "/callerIP", "callerIP of the entry", "the IP address of the publisher")
	}
	return nil
}

func (s *Scenario) readQueueAgain() error {
	if err := s.Clock.Wait(s.Context, 150*time.Millisecond); err != nil {
		return err
	}
	return s.readQueue()
}

// entryIsSame compares the fields that no event changes; counters and the state of the
// callback may change between two readings.
func (s *Scenario) entryIsSame() error {
	for _, field := range []string{"dlqId", "messageId", "createdAt", "workflowCreatedAt", "notBefore"} {
		was, _ := check.At(s.Runs.entries[0], "/"+field)
		is, _ := check.At(s.Runs.entry, "/"+field)
		if harness.Plain(was) != harness.Plain(is) {
			return s.FailureAt(s.Runs.entry, "/"+field, "the entry changed between two readings", harness.Plain(was))
		}
	}
	return nil
}

func (s *Scenario) onlyOwnEntries() error {
	for _, e := range s.Runs.listed.Items {
		if url, _ := check.Text(e, "/workflowUrl"); url != s.Runs.peer.Endpoint.URL {
			return s.FailureAt(e, "/workflowUrl", "an entry that the filter excludes was listed", s.Runs.peer.Endpoint.URL)
		}
	}
	return nil
}

// entryConfiguration looks for the number of retries in the header of the entry, ignoring
// the case of the header's name.
func (s *Scenario) entryConfiguration() error {
	sent, _ := check.At(s.Runs.entry, "/header")
	m, _ := sent.(map[string]any)
	for name, values := range m {
		list, _ := values.([]any)
		if s.isHeader(name, header.Retries) && slices.Contains(list, any(s.Runs.header.Get(header.Retries))) {
			return nil
		}
	}
	return s.FailureAt(s.Runs.entry, "/header", "the header of the entry lacks the configuration", header.Retries+": "+s.Runs.header.Get(header.Retries))
}
