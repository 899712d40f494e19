package step

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// flowing holds the flow-control keys of a scenario.
type flowing struct {
	key  string
	held int
}

var flowSteps = []step{
	{"Given", `(a|another) paused flow-control key(?: (?:of|with) (letters and digits|a slash|a space|a percent sign|a question mark|a longer name))? that holds (\d+) messages?`, (*Scenario).pausedKey},
	{"Given", `a flow-control key that was paused and resumed before`, (*Scenario).resumedBefore},
	{"Given", `no held message has arrived when a sentinel without a key does`, func(s *Scenario) error { return s.Assume(s.nothingAt(theDestination)) }},
	{"When", `(the key|a key that never existed) is resumed`, (*Scenario).resumeThe},
	{"Then", `(all held|both) messages arrive`, (*Scenario).allArrive},
	{"Then", `each held message has its own body`, (*Scenario).ownBodies},
	{"Then", `the answer is a success, or an object with the text "error"`, (*Scenario).errorShape},
}

// hold pauses a key and publishes messages under it.
func (s *Scenario) hold(key, endpoint string, n int) error {
	if err := s.Claimed("resumeFlowControlKey"); err != nil {
		return err
	}
	if _, err := s.Drive("pause", map[string]string{"key": key}); err != nil {
		return err
	}
	name, err := s.Binding("headers", "flow_key")
	if err != nil {
		return err
	}
	e := s.Endpoint(endpoint)
	for i := range n {
		s.prepared.header = http.Header{}
		s.prepared.header.Set(name, key)
		s.prepared.header.Set(s.Bound("headers", "flow_value"), s.FlowValue(harness.FlowValues[0]))
		s.prepared.body = fmt.Appendf(nil, "held %d", i)
		if err := s.published(e.URL, ""); err != nil {
			return s.flowRefused(s.Assume(err, "REQ-PUB-001"))
		}
	}
	s.prepared.header, s.prepared.body = http.Header{}, nil
	return nil
}

// flowRefused converts the refusal of a flow-control value to a missing binding when the
// target file does not define the syntax.
func (s *Scenario) flowRefused(err error) error {
	if err == nil || len(s.Suite.Target.Bindings.FlowValues) > 0 || s.Asked == nil || s.Asked.Status < 400 || s.Asked.Status >= 500 {
		return err
	}
	return harness.Inconclusive(report.BindingMissing, "bindings.flow_values: the target refuses the flow-control value %q with status %d; say in the target file what two of its values look like", harness.FlowValues[0], s.Asked.Status)
}

// pausedKey pauses a key of the scenario, or another one, whose name may begin with that of the first.
func (s *Scenario) pausedKey(which, kind string, n int) error {
	more := map[string]string{"a slash": "/x", "a space": " x", "a percent sign": "%41x", "a question mark": "?x", "a longer name": "2"}[kind]
	if which == "another" {
		name := s.Name("otherkey")
		if more != "" {
			name = s.flow.key + more
		}
		return s.hold(name, "the other destination", n)
	}
	s.flow.key, s.flow.held = s.Name("key")+more, n
	return s.hold(s.flow.key, theDestination, n)
}

// resumedBefore pauses and resumes the key once, so that the scenario checks a second resume.
func (s *Scenario) resumedBefore() error {
	s.flow.key = s.Name("key")
	if err := s.hold(s.flow.key, "the earlier destination", 1); err != nil {
		return err
	}
	return s.Assume(harness.InTurn(s.resume, func() error {
		_, err := s.FirstDelivery("the earlier destination")
		return err
	}), "REQ-FLC-001")
}

// resume records the status without judging it: in the document, any 2xx is an acceptance.
func (s *Scenario) resume() error {
	err := s.Ask(harness.Request{Operation: "resumeFlowControlKey", Vars: map[string]string{"flowControlKey": s.flow.key}})
	if s.Asked != nil {
		s.Observe("resume.status", strconv.Itoa(s.Asked.Status))
	}
	return err
}

func (s *Scenario) resumeThe(which string) error {
	if which == "the key" {
		return s.resume()
	}
	a, err := s.Do(harness.Request{Operation: "resumeFlowControlKey", Vars: map[string]string{"flowControlKey": s.Name("never")}})
	s.Asked = a
	return err
}

// allArrive requires at least the number of messages, since a delivery may be repeated. Messages with equal
// bodies are still two messages.
func (s *Scenario) allArrive(which string) error {
	n := s.flow.held
	if which == "both" {
		n = 2
	}
	return s.reaches(theDestination, n, which+" messages that arrived")
}

// ownBodies compares bodies to find a message that was delivered twice instead of another one.
func (s *Scenario) ownBodies() error {
	return s.Within(func() error { // one message may be repeated before another arrives
		var bodies []string
		for _, got := range s.Endpoint(theDestination).Look() {
			bodies = append(bodies, string(got.Body))
		}
		for i := range s.flow.held {
			if want := fmt.Sprintf("held %d", i); !slices.Contains(bodies, want) {
				return s.Failure("a held message is missing", want, fmt.Sprint(bodies))
			}
		}
		return nil
	})
}

// errorShape accepts success for an unknown key, which the document does not forbid;
// a refusal must have the shape of an error.
func (s *Scenario) errorShape() error {
	s.Looked(s.Asked.Exchange)
	s.Observe("resume.unknown.status", strconv.Itoa(s.Asked.Status))
	if s.Asked.OK() {
		return nil
	}
	if _, err := s.Driver("pause"); err != nil && s.Asked.JSON == nil && s.Asked.Status == http.StatusNotFound && len(s.Suite.Target.Profiles) == 0 {
		return harness.Inconclusive(report.DriverMissing, "without a driver \"pause\" the suite cannot find out whether the target has the operation at all")
	}
	return s.CheckField(s.Asked.JSON, "/error", "string")
}
