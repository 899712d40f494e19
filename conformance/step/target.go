package step

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/spec/header"
)

// targetSteps try the entries of a target file. What the target accepts without a difference is not
// known: it may ignore the name.
var targetSteps = []step{
	{"Given", `the driver "(\w+)"( is called)?`, (*Scenario).driver},
	{"When", `messages that fail once are published without a retry delay and with one`, (*Scenario).publishDelayingRetries},
	{"Then", `it works: ([^{]+)(?:{([^}]+)})?`, (*Scenario).works},
	{"Then", `one try shows nothing: (.+)`, (*Scenario).notKnown},
	{"Then", `the header "(\w+)" makes a difference: (.+)`, (*Scenario).differs},
	{"Then", `the message arrives after one without a delay`, (*Scenario).arrivesLater},
	{"Then", `the (dead letter queue|message logs) lists? less with the filter "(\w+)" for (.+)`, (*Scenario).listsLess},
	{"Then", `what runs have left has the field "(\w+)\.(\w+)"`, (*Scenario).hasField},
}

func (s *Scenario) driver(name, called string) (err error) {
	switch {
	case called == "":
		_, err = s.Driver(name)
	case name == "account":
		err = s.OwnAccount("secret-" + s.Key)
	default:
		_, err = s.Drive(name, map[string]string{"key": s.Name("key")})
	}
	return err
}

// publishDelayingRetries publishes to the endpoint "without", and then to the destination.
func (s *Scenario) publishDelayingRetries() error {
	name, err := s.Binding("headers", "retry_delay")
	s.prepared.header.Set(header.Retries, "1")
	for _, to := range []string{"without", theDestination} {
		e := s.Endpoint(to, receiver.Reply{Status: http.StatusServiceUnavailable})
		if err == nil {
			err = s.published(e.URL, "")
		}
		if err == nil {
			err = s.Settled(e, 1)
		}
		s.prepared.header.Set(name, harness.RetryDelay)
	}
	return err
}

// works says what an entry did. The text may end in a value of the scenario.
func (s *Scenario) works(what, name string) (err error) {
	s.Result.Detail = what
	if name != "" {
		name, err = s.value(name, nil, nil)
	}
	s.Result.Detail += name
	return err
}

func (s *Scenario) notKnown(why string) error {
	return harness.Inconclusive(report.NotTried, "%s", why)
}

// notUnderstood is the result of what the target accepted without a difference.
func (s *Scenario) notUnderstood() error {
	return s.notKnown("sent; not known whether it is understood")
}

// differs waits until a message shows that the target understands a header.
func (s *Scenario) differs(binding, how string) error {
	name, e := s.Bound("headers", binding), s.Endpoint(theDestination)
	shows := map[string]func() bool{
		"it is there, in what a run left behind": func() bool { return s.hasField("dlq", binding) == nil },
		"the callback was called": func() bool {
			return len(s.Endpoint("success callback").Look())+len(s.Endpoint("failure callback").Look()) > 0
		},
		"the message arrived by PUT":                                func() bool { return e.Look()[0].Method == http.MethodPut },
		"the message was tried again before one without the header": func() bool { return len(e.Look()) > 1 && len(s.Endpoint("without").Look()) == 1 },
	}[how]
	if shows == nil || s.Clock.Eventually(s.Context, 3*time.Second, func() error {
		if !shows() {
			return errors.New(how)
		}
		return nil
	}) != nil {
		return s.notUnderstood()
	}
	return s.works(fmt.Sprintf("%s: %s: %s", s.Suite.Branded(name), s.prepared.header.Get(name), how), "")
}

func (s *Scenario) arrivesLater() error {
	e := s.Endpoint(theDestination)
	err := s.Absent(func() error {
		if len(e.Look()) > 0 {
			return s.notUnderstood()
		}
		return nil
	})
	if err == nil {
		err = s.Clock.Pass(s.Context, s.prepared.delay)
	}
	if err == nil {
		err = s.Settled(e, 1)
	}
	return cmp.Or(err, s.works(fmt.Sprintf("a message with %s: %s arrived after one without", s.Suite.Branded(header.Delay), s.prepared.header.Get(header.Delay)), ""))
}

// remains are what two runs have left in an account, by section of bindings.fields.
type remains struct {
	auth target.Auth
	of   map[string][]any
}

// remains are made by the first scenario that needs them.
func (s *Scenario) remains() (*remains, error) {
	made, _ := s.Suite.Made.LoadOrStore("remains", sync.OnceValues(s.leave))
	return made.(func() (*remains, error))()
}

// leave makes a run that fails, with every configuration that the target file names, and one that has
// a step of every type and succeeds.
func (s *Scenario) leave() (*remains, error) {
	left := &remains{s.Auth, map[string][]any{}}
	for _, run := range []func() error{s.failConfigured, s.everyStep} {
		if err := run(); err != nil {
			return nil, err
		}
		entries, err := s.EntriesOf(s.runs.id)
		if err != nil {
			return nil, err
		}
		left.add("dlq", entries, "/failureCallbackInfo", "dlq")
		runs := map[string]bool{s.runs.id: true}
		if s.runs.child != nil {
			for id := range s.runs.child.RunIDs() {
				runs[id] = true
			}
		}
		for id := range runs {
			events, err := s.EventsOf(id)
			if err != nil {
				return nil, err
			}
			left.add("log", events, "/stepInfo", "step")
		}
	}
	return left, nil
}

// add adds items, and what they have at a pointer.
func (r *remains) add(section string, items []any, pointer, inner string) {
	r.of[section] = append(r.of[section], items...)
	for _, item := range items {
		if v, has := check.At(item, pointer); has {
			r.of[inner] = append(r.of[inner], v)
		}
	}
}

func (s *Scenario) failConfigured() error {
	if name := s.Bound("headers", "flow_key"); name != "" {
		s.Configure(name, s.Name("flow"))
		s.Configure(s.Bound("headers", "flow_value"), s.FlowValue(harness.FlowValues[0]))
	}
	if s.Bound("headers", "failure_callback") == "" {
		return harness.InTurn(func() error { return s.newWorkflow(s.stepOf("Run fails with 503 and a body that is not UTF-8")) }, s.die)
	}
	err := s.deadRunWithCallback()
	if err == nil {
		_ = s.Settled(s.runs.callback, 1) // without it, its values are not found
	}
	return err
}

func (s *Scenario) everyStep() error {
	var steps []workflow.Step
	for _, kind := range []string{"Run", "SleepFor", "SleepUntil", "Call", "Wait", "Invoke"} {
		st := s.stepOf(kind)
		st.Name, st.Seconds = kind, 1
		steps = append(steps, st)
	}
	s.runs.header = nil
	return harness.InTurn(func() error { return s.newWorkflow(steps...) }, s.triggerRun, s.runSucceeds)
}

// listsLess reads a list without a filter and with one.
func (s *Scenario) listsLess(list, filter, value string) error {
	name, err := s.Binding(listed[list].section, filter)
	if left, failed := s.remains(); failed == nil { // without runs there may be other items
		s.Auth = left.auth
	}
	var sizes []int
	for _, query := range []url.Values{{}, {name: {value}}} {
		if err == nil {
			err = s.Ask(harness.Request{Operation: listed[list].operation, Query: query})
		}
		if err != nil {
			return err
		}
		items, _ := s.Asked.List(harness.ListField[listed[list].operation]) // a scenario judges its form
		sizes = append(sizes, len(items))
	}
	if sizes[0] <= sizes[1] || sizes[1] > 0 && filter != "count" && filter != "state" { // all other values fit nothing
		return s.notUnderstood()
	}
	return s.works(fmt.Sprintf("with %s=%s the list has %d items, without it %d", name, value, sizes[1], sizes[0]), "")
}

func (s *Scenario) hasField(section, name string) error {
	left, err := s.remains()
	field, unbound := s.Binding("fields."+section, name)
	if err = cmp.Or(err, unbound); err != nil {
		return err
	}
	for _, item := range left.of[section] {
		if _, has := check.At(item, "/"+field); has {
			return s.works("it is there, in what a run left behind", "")
		}
	}
	return s.notKnown(fmt.Sprintf("no %s in what was left by a failed run and by a run with a step of every type", field))
}
