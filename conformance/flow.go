package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/report"
)

// flowing are the flow-control keys of a scenario.
type flowing struct {
	key    string
	held   int
	others int
}

var flowSteps = []step{
	{"Given", `a paused flow-control key that holds (\d+) messages?`, (*scenario).pausedKey},
	{"Given", `a paused flow-control key of (letters and digits|a slash|a space|a percent sign|a question mark) that holds (\d+) messages?`, (*scenario).pausedKeyOf},
	{"Given", `a flow-control key that was paused and resumed before`, (*scenario).resumedBefore},
	{"Given", `(\d+) paused flow-control keys that hold 1 message each`, (*scenario).manyPausedKeys},
	{"Given", `another paused flow-control key with a longer name that holds (\d+) messages?`, (*scenario).longerPausedKey},
	{"Given", `another paused flow-control key that holds (\d+) messages?`, (*scenario).otherPausedKey},
	{"Given", `no held message has arrived when a sentinel without a key does`, (*scenario).noneArrived},
	{"When", `the key is resumed`, (*scenario).resume},
	{"When", `all keys are resumed at once`, (*scenario).resumeAllAtOnce},
	{"Then", `the message of each key arrives`, (*scenario).eachKeyArrives},
	{"When", `a key that never existed is resumed`, (*scenario).resumeUnknown},
	{"Then", `all held messages arrive`, (*scenario).allArrive},
	{"Then", `each held message has its own body`, (*scenario).ownBodies},
	{"When", `a message with the key in its query is published to another destination`, (*scenario).publishKeyInQuery},
	{"Then", `the message of the other destination does not arrive`, (*scenario).otherStays},
	{"Then", `the answer is a success, or an object with the text "error"`, (*scenario).errorShape},
}

// hold pauses a key and publishes messages under it.
func (s *scenario) hold(key, endpoint string, n int) error {
	if err := s.claimed("resumeFlowControlKey"); err != nil {
		return err
	}
	if _, err := s.drive("pause", map[string]string{"key": key}); err != nil {
		return err
	}
	name, err := s.binding("headers", "flow_key")
	if err != nil {
		return err
	}
	e := s.endpoint(endpoint)
	for i := range n {
		s.publish.header = http.Header{}
		s.publish.header.Set(name, key)
		s.publish.header.Set(s.bound("headers", "flow_value"), s.flowValue(flowValues[0]))
		s.publish.body = fmt.Appendf(nil, "held %d", i)
		if err := s.published(e.URL, ""); err != nil {
			return s.flowRefused(unless(err))
		}
	}
	s.publish.header, s.publish.body = nil, nil
	return nil
}

// flowValues are what scenarios call two flow-control values: their syntax is not
// shown, so the target file may say what they are for the target.
var flowValues = []string{"parallelism=5", "parallelism=2"}

// flowValue is a value as the target writes it.
func (s *scenario) flowValue(value string) string {
	bound := s.suite.target.Bindings.FlowValues
	if i := slices.Index(flowValues, value); i >= 0 && i < len(bound) {
		return bound[i]
	}
	return value
}

// flowRefused turns the refusal of a flow-control value whose syntax nobody has
// named into a lack of the binding.
func (s *scenario) flowRefused(err error) error {
	if err == nil || len(s.suite.target.Bindings.FlowValues) > 0 || s.asked == nil || s.asked.status < 400 || s.asked.status >= 500 {
		return err
	}
	return skip(report.BindingMissing, "bindings.flow_values: the target refuses the flow-control value %q with status %d; say in the target file what two of its values look like", flowValues[0], s.asked.status)
}

func (s *scenario) pausedKey(n int) error { return s.pausedKeyOf("letters and digits", n) }

func (s *scenario) pausedKeyOf(kind string, n int) error {
	s.flow.key, s.flow.held = s.name("key"), n
	s.flow.key += map[string]string{"a slash": "/x", "a space": " x", "a percent sign": "%41x", "a question mark": "?x"}[kind]
	return s.hold(s.flow.key, to, n)
}

func (s *scenario) resumedBefore() error {
	s.flow.key = s.name("key")
	if err := s.hold(s.flow.key, "the earlier destination", 1); err != nil {
		return err
	}
	if err := unless(s.resume()); err != nil {
		return err
	}
	_, err := s.one("the earlier destination")
	return unless(err)
}

func (s *scenario) longerPausedKey(n int) error {
	s.flow.others = n
	return s.hold(s.flow.key+"2", "the other destination", n)
}

func (s *scenario) manyPausedKeys(n int) error {
	for i := range n {
		if err := s.hold(s.name(fmt.Sprintf("key%d", i)), fmt.Sprintf("destination %d", i), 1); err != nil {
			return err
		}
	}
	s.flow.held = n
	return nil
}

func (s *scenario) resumeAllAtOnce() error {
	return atOnce(s.flow.held, func(i int) error {
		a, err := s.do(ask{op: "resumeFlowControlKey", vars: map[string]string{"flowControlKey": s.name(fmt.Sprintf("key%d", i))}})
		if err != nil {
			return err
		}
		return a.accepted()
	})
}

func (s *scenario) eachKeyArrives() error {
	for i := range s.flow.held {
		if _, err := s.one(fmt.Sprintf("destination %d", i)); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) otherPausedKey(n int) error {
	s.flow.others = n
	return s.hold(s.name("otherkey"), "the other destination", n)
}

func (s *scenario) publishKeyInQuery() error {
	key, value := s.bound("headers", "flow_key"), s.bound("headers", "flow_value")
	s.publish.query = url.Values{strings.ToLower(key): {s.flow.key}, strings.ToLower(value): {s.flowValue(flowValues[0])}}
	return s.flowRefused(s.published(s.endpoint("the other destination").URL, ""))
}

func (s *scenario) noneArrived() error {
	return s.absent(func() error {
		if n := len(s.endpoint(to).Look()); n > 0 {
			return skip(report.PrerequisiteFailed, "%d messages of a paused key were delivered", n)
		}
		return nil
	})
}

func (s *scenario) resume() error {
	a, err := s.do(ask{op: "resumeFlowControlKey", vars: map[string]string{"flowControlKey": s.flow.key}})
	s.asked = a
	if err != nil {
		return err
	}
	s.observe("resume.status", strconv.Itoa(a.status))
	return a.accepted()
}

func (s *scenario) resumeUnknown() error {
	a, err := s.do(ask{op: "resumeFlowControlKey", vars: map[string]string{"flowControlKey": s.name("never")}})
	s.asked = a
	return err
}

func (s *scenario) allArrive() error {
	e := s.endpoint(to)
	return s.within(func() error {
		if n := len(e.Look()); n < s.flow.held {
			return s.failure("held messages that arrived", strconv.Itoa(s.flow.held), strconv.Itoa(n))
		}
		return nil
	})
}

func (s *scenario) ownBodies() error {
	return s.within(func() error { // a repeat of one may come before another
		var bodies []string
		for _, got := range s.endpoint(to).Look() {
			bodies = append(bodies, string(got.Body))
		}
		for i := range s.flow.held {
			if want := fmt.Sprintf("held %d", i); !slices.Contains(bodies, want) {
				return s.failure("a held message is missing", want, fmt.Sprint(bodies))
			}
		}
		return nil
	})
}

func (s *scenario) otherStays() error {
	return s.absent(func() error {
		if n := len(s.endpoint("the other destination").Look()); n > 0 {
			return s.failure("messages of a key that was not resumed", "none", strconv.Itoa(n))
		}
		return nil
	})
}

func (s *scenario) errorShape() error {
	s.looked(s.asked.exchange)
	s.observe("resume.unknown.status", strconv.Itoa(s.asked.status))
	if s.asked.ok() {
		return nil
	}
	if _, err := s.driver("pause"); err != nil && s.asked.json == nil && s.asked.status == http.StatusNotFound && len(s.suite.target.Profiles) == 0 {
		return skip(report.DriverMissing, "without a driver \"pause\" it cannot be told whether the target has the operation at all")
	}
	return s.has(s.asked.json, "/error", "string")
}
