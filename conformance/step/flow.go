package step

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// flowing are the flow-control keys of a scenario.
type flowing struct {
	key    string
	held   int
	others int
}

var flowSteps = []step{
	{"Given", `a paused flow-control key that holds (\d+) messages?`, (*Scenario).pausedKey},
	{"Given", `a paused flow-control key of (letters and digits|a slash|a space|a percent sign|a question mark) that holds (\d+) messages?`, (*Scenario).pausedKeyOf},
	{"Given", `a flow-control key that was paused and resumed before`, (*Scenario).resumedBefore},
	{"Given", `(\d+) paused flow-control keys that hold 1 message each`, (*Scenario).manyPausedKeys},
	{"Given", `another paused flow-control key with a longer name that holds (\d+) messages?`, (*Scenario).longerPausedKey},
	{"Given", `another paused flow-control key that holds (\d+) messages?`, (*Scenario).otherPausedKey},
	{"Given", `no held message has arrived when a sentinel without a key does`, (*Scenario).noneArrived},
	{"When", `the key is resumed`, (*Scenario).resume},
	{"When", `all keys are resumed at once`, (*Scenario).resumeAllAtOnce},
	{"Then", `the message of each key arrives`, (*Scenario).eachKeyArrives},
	{"When", `a key that never existed is resumed`, (*Scenario).resumeUnknown},
	{"Then", `all held messages arrive`, (*Scenario).allArrive},
	{"Then", `each held message has its own body`, (*Scenario).ownBodies},
	{"When", `a message with the key in its query is published to another destination`, (*Scenario).publishKeyInQuery},
	{"Then", `the message of the other destination does not arrive`, (*Scenario).otherStays},
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
		s.publish.header = http.Header{}
		s.publish.header.Set(name, key)
		s.publish.header.Set(s.Bound("headers", "flow_value"), s.FlowValue(FlowValues[0]))
		s.publish.body = fmt.Appendf(nil, "held %d", i)
		if err := s.published(e.URL, ""); err != nil {
			return s.flowRefused(harness.Prerequisite(err))
		}
	}
	s.publish.header, s.publish.body = nil, nil
	return nil
}

// FlowValues are what scenarios call two flow-control values: their syntax is not
// shown, so the target file may say what they are for the target.
var FlowValues = []string{"parallelism=5", "parallelism=2"}

// FlowValue is a value as the target writes it.
func (s *Scenario) FlowValue(value string) string {
	bound := s.Suite.Target.Bindings.FlowValues
	if i := slices.Index(FlowValues, value); i >= 0 && i < len(bound) {
		return bound[i]
	}
	return value
}

// flowRefused turns the refusal of a flow-control value whose syntax nobody has
// named into a lack of the binding.
func (s *Scenario) flowRefused(err error) error {
	if err == nil || len(s.Suite.Target.Bindings.FlowValues) > 0 || s.Asked == nil || s.Asked.Status < 400 || s.Asked.Status >= 500 {
		return err
	}
	return harness.Inconclusive(report.BindingMissing, "bindings.flow_values: the target refuses the flow-control value %q with status %d; say in the target file what two of its values look like", FlowValues[0], s.Asked.Status)
}

func (s *Scenario) pausedKey(n int) error { return s.pausedKeyOf("letters and digits", n) }

func (s *Scenario) pausedKeyOf(kind string, n int) error {
	s.flow.key, s.flow.held = s.Name("key"), n
	s.flow.key += map[string]string{"a slash": "/x", "a space": " x", "a percent sign": "%41x", "a question mark": "?x"}[kind]
	return s.hold(s.flow.key, theDestination, n)
}

// resumedBefore resumes once before the scenario begins: the second resume of a key
// meets a state that the first one left.
func (s *Scenario) resumedBefore() error {
	s.flow.key = s.Name("key")
	if err := s.hold(s.flow.key, "the earlier destination", 1); err != nil {
		return err
	}
	if err := harness.Prerequisite(s.resume()); err != nil {
		return err
	}
	_, err := s.FirstDelivery("the earlier destination")
	return harness.Prerequisite(err)
}

func (s *Scenario) longerPausedKey(n int) error {
	s.flow.others = n
	return s.hold(s.flow.key+"2", "the other destination", n)
}

// manyPausedKeys holds one message below each key, so that resuming one key too many
// is seen at another destination.
func (s *Scenario) manyPausedKeys(n int) error {
	for i := range n {
		if err := s.hold(s.Name(fmt.Sprintf("key%d", i)), fmt.Sprintf("destination %d", i), 1); err != nil {
			return err
		}
	}
	s.flow.held = n
	return nil
}

// resumeAllAtOnce sends the requests at the same time, since held messages are lost
// or doubled where two resumes share a list.
func (s *Scenario) resumeAllAtOnce() error {
	return atOnce(s.flow.held, func(i int) error {
		a, err := s.Do(harness.Request{Operation: "resumeFlowControlKey", Vars: map[string]string{"flowControlKey": s.Name(fmt.Sprintf("key%d", i))}})
		if err != nil {
			return err
		}
		return a.Accepted()
	})
}

func (s *Scenario) eachKeyArrives() error {
	for i := range s.flow.held {
		if _, err := s.FirstDelivery(fmt.Sprintf("destination %d", i)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) otherPausedKey(n int) error {
	s.flow.others = n
	return s.hold(s.Name("otherkey"), "the other destination", n)
}

func (s *Scenario) publishKeyInQuery() error {
	key, value := s.Bound("headers", "flow_key"), s.Bound("headers", "flow_value")
	s.publish.query = url.Values{strings.ToLower(key): {s.flow.key}, strings.ToLower(value): {s.FlowValue(FlowValues[0])}}
	return s.flowRefused(s.published(s.Endpoint("the other destination").URL, ""))
}

func (s *Scenario) noneArrived() error {
	return s.Absent(func() error {
		if n := len(s.Endpoint(theDestination).Look()); n > 0 {
			return harness.Inconclusive(report.PrerequisiteFailed, "%d messages of a paused key were delivered", n)
		}
		return nil
	})
}

// resume notes the status without judging it: any 2xx is an acceptance in the
// document.
func (s *Scenario) resume() error {
	a, err := s.Do(harness.Request{Operation: "resumeFlowControlKey", Vars: map[string]string{"flowControlKey": s.flow.key}})
	s.Asked = a
	if err != nil {
		return err
	}
	s.Observe("resume.status", strconv.Itoa(a.Status))
	return a.Accepted()
}

func (s *Scenario) resumeUnknown() error {
	a, err := s.Do(harness.Request{Operation: "resumeFlowControlKey", Vars: map[string]string{"flowControlKey": s.Name("never")}})
	s.Asked = a
	return err
}

// allArrive wants at least the number of held messages, since a delivery may be
// repeated.
func (s *Scenario) allArrive() error {
	e := s.Endpoint(theDestination)
	return s.Within(func() error {
		if n := len(e.Look()); n < s.flow.held {
			return s.Failure("held messages that arrived", strconv.Itoa(s.flow.held), strconv.Itoa(n))
		}
		return nil
	})
}

// ownBodies compares bodies to find a message that was delivered twice in place of
// another.
func (s *Scenario) ownBodies() error {
	return s.Within(func() error { // a repeat of one may come before another
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

func (s *Scenario) otherStays() error {
	return s.Absent(func() error {
		if n := len(s.Endpoint("the other destination").Look()); n > 0 {
			return s.Failure("messages of a key that was not resumed", "none", strconv.Itoa(n))
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
		return harness.Inconclusive(report.DriverMissing, "without a driver \"pause\" it cannot be told whether the target has the operation at all")
	}
	return s.CheckField(s.Asked.JSON, "/error", "string")
}
