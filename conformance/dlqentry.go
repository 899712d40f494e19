package conformance

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

// deadConfigured has everything that a run can be configured with and the target
// file names.
func (s *scenario) deadConfigured() error {
	for _, c := range [][2]string{{"flow_key", s.Name("key")}, {"flow_value", s.flowValue(flowValues[0])}, {"method", http.MethodPut}} {
		if name := s.Bound("headers", c[0]); name != "" {
			s.configure(name, c[1])
		}
	}
	if s.Bound("headers", "failure_callback") == "" {
		return s.deadRun()
	}
	return s.deadRunWithCallback()
}

// deadOfAnother is a run of another workflow, which the scenario is not about.
func (s *scenario) deadOfAnother() error {
	runs, named := s.runs, s.Named["the workflow"]
	delete(s.Named, "the workflow")
	err := s.deadRun()
	s.Named["the workflow"] = named
	runs.header, runs.number = s.runs.header, s.runs.number
	s.runs = runs
	return err
}

func (s *scenario) deadWithFailingCallback() error {
	name, err := s.Binding("headers", "failure_callback")
	if err != nil {
		return err
	}
	s.runs.callback = s.Endpoint("failure callback")
	s.runs.callback.Aside = true
	s.runs.callback.Answer(&receiver.Reply{Status: http.StatusInternalServerError, Body: "broken"})
	s.configure(name, s.runs.callback.URL)
	return s.deadRun()
}

// callbackNotSucceeded reads on for a while: what is stored may come late.
func (s *scenario) callbackNotSucceeded() error {
	for range 3 {
		entry, err := s.buried(s.runs.id)
		if err != nil {
			return err
		}
		if state, _ := check.Text(entry, "/failureCallbackInfo/state"); state == "CALLBACK_SUCCESS" {
			return s.Failure("the state of a failure callback that was answered 500", "any but CALLBACK_SUCCESS", harness.Shown(entry))
		}
		if err := s.Clock.Pass(s.Context, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// entryKinds are the fields of the table, with their types.
var entryKinds = [][2]string{
	{"dlqId", "string"}, {"messageId", "string"}, {"url", "string"}, {"method", "string"}, {"header", "header map"}, {"maxRetries", "integer"},
	{"notBefore", "integer"}, {"createdAt", "integer"}, {"callerIP", "string"}, {"workflowRunId", "string"}, {"workflowCreatedAt", "integer"},
	{"workflowUrl", "string"}, {"responseStatus", "integer"}, {"responseHeader", "header map"}, {"responseBody", "string"},
}

func (s *scenario) entryHasAll() error {
	for _, field := range entryKinds {
		if err := s.CheckField(s.runs.entry, "/"+field[0], field[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) callerIsAddress() error {
	if ip, _ := check.Text(s.runs.entry, "/callerIP"); net.ParseIP(ip) == nil {
		return s.Failure("callerIP of the entry", "the IP address of the publisher", ip)
	}
	return nil
}

func (s *scenario) readQueueAgain() error {
	if err := s.Clock.Wait(s.Context, 150*time.Millisecond); err != nil {
		return err
	}
	return s.readQueue()
}

func (s *scenario) entryIsSame() error {
	for _, field := range []string{"dlqId", "messageId", "createdAt", "workflowCreatedAt", "notBefore"} {
		was, _ := check.At(s.runs.entries[0], "/"+field)
		is, _ := check.At(s.runs.entry, "/"+field)
		if harness.Plain(was) != harness.Plain(is) {
			return &report.Failure{Message: "the entry changed between two readings", Pointer: "/" + field, Want: harness.Plain(was), Got: harness.Plain(is), Exchange: s.Last()}
		}
	}
	return nil
}

func (s *scenario) onlyOwnEntries() error {
	for _, e := range s.runs.listed.Items {
		if url, _ := check.Text(e, "/workflowUrl"); url != s.runs.peer.endpoint.URL {
			return s.Failure("an entry that the filter excludes was listed", "entries of "+s.runs.peer.endpoint.URL, harness.Shown(e))
		}
	}
	return nil
}

// entryConfiguration looks for the retries, by whichever case of their name.
func (s *scenario) entryConfiguration() error {
	sent, _ := check.At(s.runs.entry, "/header")
	m, _ := sent.(map[string]any)
	for name, values := range m {
		list, _ := values.([]any)
		if s.isHeader(name, header.Retries) && slices.Contains(list, any(s.runs.header.Get(header.Retries))) {
			return nil
		}
	}
	return s.Failure("the header of the entry lacks the configuration", header.Retries+": "+s.runs.header.Get(header.Retries), harness.Shown(sent))
}
