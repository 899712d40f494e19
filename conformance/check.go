package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/step"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/spec/header"
)

// Checked is one entry of a target file and the result of trying it once.
type Checked struct {
	Entry  string // drivers.run, bindings.dlq.count ...
	Works  bool
	Tried  bool   // false: the target file lacks it, or only a scenario can test it
	Detail string // one line
}

// trial tries one entry of a target file. try returns a text for Checked.Detail.
type trial struct {
	entry string
	try   func(*step.Scenario) (string, error)
}

// driverTrials try each driver. Drivers that others depend on come first.
var driverTrials = []trial{
	{"drivers.clock", func(s *step.Scenario) (string, error) {
		if _, err := s.Driver("clock"); err != nil {
			return "", err
		}
		at, err := s.Clock.Target(s.Context)
		return "the time is " + at.UTC().Format("2006-01-02 15:04:05"), err
	}},
	{"drivers.account", func(s *step.Scenario) (string, error) {
		return "made an account", s.OwnAccount("secret-" + s.Key)
	}},
	{"drivers.group", func(s *step.Scenario) (string, error) {
		if err := s.MakeGroup(`"one" and "two"`); err != nil {
			return "", err
		}
		a, err := s.Do(harness.Request{Operation: "publishMessage", Vars: map[string]string{"destination": s.Group.Name}, Method: s.PublishMethod(), Body: []byte("check")})
		if err := errors.Join(err, notAccepted(a)); err != nil {
			return "made a group, but a publish to it does not work", err
		}
		return "made a group of two endpoints; both received a message", errors.Join(s.Settled(s.Endpoint("one"), 1), s.Settled(s.Endpoint("two"), 1))
	}},
	{"drivers.pause", func(s *step.Scenario) (string, error) {
		_, err := s.Drive("pause", map[string]string{"key": s.Name("key")})
		return "paused a key", err
	}},
	{"drivers.run", func(s *step.Scenario) (string, error) {
		return "triggered a workflow of two steps; it ran to its end", harness.InTurn(func() error { return s.Workflow(`"first" and "second"`) }, s.TriggerRun, s.RunSucceeds)
	}},
	{"drivers.cancel", func(s *step.Scenario) (string, error) {
		return "cancelled a waiting run; its log says so", harness.InTurn(has(s, "cancel"), s.WaitingRun, s.CancelRun, func() error { return s.RunRecorded("RUN_CANCELED") })
	}},
	{"drivers.search", func(s *step.Scenario) (string, error) {
		id, err := madeIndex(s, "search")
		return "made the index " + id, err
	}},
	{"drivers.search_look", func(s *step.Scenario) (string, error) {
		id, err := madeIndex(s, "search_look")
		if err == nil {
			_, err = s.Drive("search_look", map[string]string{"id": id})
		}
		return "found the index " + id, err
	}},
	{"drivers.plugin", func(s *step.Scenario) (string, error) {
		return "started the host of the plugin; it answered a request", harness.InTurn(has(s, "plugin"),
			func() error { return s.LimitedRoute(1, "1m", "fixed-window") },
			func() error { return s.AskHost(http.MethodGet, "/", "client") })
	}},
	{"drivers.vectors", func(s *step.Scenario) (string, error) {
		return "put vectors into a namespace", s.SomeVectors(`"a" and "b"`)
	}},
}

// has requires a driver.
func has(s *step.Scenario, driver string) func() error {
	return func() error {
		_, err := s.Driver(driver)
		return err
	}
}

// madeIndex makes a search index for the trial of a driver.
func madeIndex(s *step.Scenario, driver string) (string, error) {
	if err := has(s, driver)(); err != nil {
		return "", err
	}
	return s.MakeSearchIndex("index")
}

// notAccepted returns an error unless the response is a success.
func notAccepted(a *harness.Response) error {
	if a == nil {
		return nil
	}
	return a.Accepted()
}

// headerTrials are the values of configuration headers in a trial. Sorted.
var headerTrials = map[string]func(*step.Scenario) string{
	"failure_callback": func(s *step.Scenario) string { return s.Endpoint("callback").URL },
	"flow_key":         func(s *step.Scenario) string { return s.Name("flow") },
	"flow_value":       func(s *step.Scenario) string { return s.FlowValue(step.FlowValues[0]) },
	"label":            func(s *step.Scenario) string { return s.Name("label") },
	"retry_delay":      func(*step.Scenario) string { return "1000" },
}

// filterTrials are the values of filters in a trial, by the name of the binding.
var filterTrials = map[string]string{
	"callback_state": "CALLBACK_FAIL", "caller_ip": "192.0.2.1", "count": "1", "created_at": "1767225600000", "from": "1767225600000",
	"label": "none", "message_id": "none", "response_status": "500", "run_id": "none", "state": "RUN_STARTED", "to": "1767225600000",
	"url": "https://none.example",
}

// CheckTarget tries every driver and binding of a target file once and reports the
// results. It gives no verdict on the target. It returns the same errors as [Run].
func CheckTarget(ctx context.Context, cfg Config) ([]Checked, error) {
	st, err := newSuite(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer st.close()
	absent, err := st.open(ctx)
	if err != nil {
		return nil, err
	}
	list := []Checked{{"receiver", true, true, "a message that was published arrived at " + st.Receiver.Public}}
	for _, area := range slices.Sorted(maps.Keys(absent)) {
		list = append(list, Checked{"area " + area, false, true, absent[area]})
	}
	for _, t := range st.trials() {
		list = append(list, st.try(ctx, t))
	}
	return list, nil
}

// trials returns the trials of the drivers and of the bindings in the target file.
func (st *suite) trials() []trial {
	all := slices.Clone(driverTrials)
	for _, name := range slices.Sorted(maps.Keys(st.Target.Drivers)) {
		if entry := "drivers." + name; !slices.ContainsFunc(all, func(t trial) bool { return t.entry == entry }) {
			all = append(all, trial{entry, func(*step.Scenario) (string, error) {
				return "the target was prepared", nil // before the first trial: otherwise open returns an error
			}})
		}
	}
	b := st.Target.Bindings
	for _, name := range slices.Sorted(maps.Keys(b.Headers)) {
		all = append(all, trial{"bindings.headers." + name, func(s *step.Scenario) (string, error) { return tryHeader(s, name, b.Headers[name]) }})
	}
	if format := b.Delay["format"]; format != "" {
		all = append(all, trial{"bindings.delay.format", func(s *step.Scenario) (string, error) {
			return tryPublish(s, header.Delay, strings.ReplaceAll(format, "{n}", "1"), http.Header{})
		}})
	}
	if b.Stats["path"] != "" {
		all = append(all, trial{"bindings.stats.path", func(s *step.Scenario) (string, error) {
			a, err := s.GetStats("")
			return "the statistics were read", errors.Join(err, notAccepted(a))
		}})
	}
	for _, list := range []struct {
		section, operation string
		names              map[string]string
	}{{"dlq", "listWorkflowDLQ", b.DLQ}, {"logs", "listWorkflowMessageLogs", b.Logs}} {
		for _, filter := range slices.Sorted(maps.Keys(list.names)) {
			all = append(all, trial{"bindings." + list.section + "." + filter, func(s *step.Scenario) (string, error) {
				return tryFilter(s, list.operation, filter, list.names[filter])
			}})
		}
	}
	return append(all, st.fieldTrials(b.Fields)...)
}

// tryHeader publishes a message with a configuration header.
func tryHeader(s *step.Scenario, name, header string) (string, error) {
	value := headerTrials[name]
	if value == nil {
		return "", harness.Inconclusive(report.NotTried, "only a restart takes it")
	}
	configured := http.Header{}
	if name == "flow_key" || name == "flow_value" { // neither works without the other
		if s.Bound("headers", "flow_key") == "" || s.Bound("headers", "flow_value") == "" {
			return "", harness.Inconclusive(report.NotTried, "headers.flow_key and headers.flow_value are tried together")
		}
		configured.Set(s.Bound("headers", "flow_key"), s.Name("flow"))
		configured.Set(s.Bound("headers", "flow_value"), s.FlowValue(step.FlowValues[0]))
	}
	return tryPublish(s, header, value(s), configured)
}

// tryPublish publishes a message with a configuration header, added to others.
func tryPublish(s *step.Scenario, header, value string, others http.Header) (string, error) {
	e := s.Endpoint("destination")
	others.Set(header, value)
	a, err := s.Do(harness.Request{
		Operation: "publishMessage", Vars: map[string]string{"destination": e.URL}, Method: s.PublishMethod(),
		Header: others, Body: []byte("check"),
	})
	if err := errors.Join(err, notAccepted(a)); err != nil {
		return "", err
	}
	if err := s.Clock.Pass(s.Context, 2*time.Second); err != nil {
		return "", err
	}
	for branded := range s.Suite.Dialect.BrandHeader(http.Header{http.CanonicalHeaderKey(header): nil}) {
		header = branded
	}
	return fmt.Sprintf("a message with %s: %s arrived", header, value), s.Settled(e, 1)
}

// tryFilter reads a list with a filter. It cannot distinguish a filter that the
// target ignores from one that it supports; scenarios do.
func tryFilter(s *step.Scenario, operation, filter, name string) (string, error) {
	value, known := filterTrials[filter]
	if !known {
		return "", harness.Inconclusive(report.NotTried, "it is used when a list has a second page")
	}
	a, err := s.Do(harness.Request{Operation: operation, Query: url.Values{name: {value}}})
	return fmt.Sprintf("the list was read with %s=%s", name, value), errors.Join(err, notAccepted(a))
}

// fieldTrials return trials that look for property names in the data of finished runs.
func (st *suite) fieldTrials(fields map[string]map[string]string) []trial {
	var all []trial
	for _, section := range slices.Sorted(maps.Keys(fields)) {
		for _, name := range slices.Sorted(maps.Keys(fields[section])) {
			all = append(all, trial{"bindings.fields." + section + "." + name, func(*step.Scenario) (string, error) {
				return st.tryField(section, fields[section][name])
			}})
		}
	}
	return all
}

func (st *suite) tryField(section, field string) (string, error) {
	left, err := st.leftovers()
	if err != nil {
		return "", err
	}
	for _, one := range left[section] {
		if _, has := check.At(one, "/"+field); has {
			return "it is there, in what a run left behind", nil
		}
	}
	return "", harness.Inconclusive(report.NotTried, "no %s in what was left by a failed run and by a run with a step of every type", field)
}

// leave makes a run that fails and one that has a step of every type. It returns
// their DLQ entries, log events and steps, by section of bindings.fields.
func (st *suite) leave(ctx context.Context) (map[string][]any, error) {
	left := map[string][]any{}
	for _, make := range []func(*step.Scenario) error{failForCheck, everyStepForCheck} {
		s, err := st.start(ctx, report.Result{})
		if err != nil {
			return nil, err
		}
		err = make(s)
		if err == nil {
			err = keepLeft(s, left)
		}
		s.Finish()
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// keepLeft adds the data of the run of a scenario to left.
func keepLeft(s *step.Scenario, left map[string][]any) error {
	entries, err := s.EntriesOf(s.Runs.Id)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		left["dlq"] = append(left["dlq"], entry)
		if info, has := check.At(entry, "/failureCallbackInfo"); has {
			left["dlq"] = append(left["dlq"], info)
		}
	}
	events, err := s.EventsOf(s.Runs.Id)
	if err != nil {
		return err
	}
	if s.Runs.Child != nil {
		for id := range s.Runs.Child.RunIDs() {
			more, err := s.EventsOf(id)
			if err != nil {
				return err
			}
			events = append(events, more...)
		}
	}
	for _, e := range events {
		left["log"] = append(left["log"], e)
		if step, has := check.At(e, "/stepInfo"); has {
			left["step"] = append(left["step"], step)
		}
	}
	return nil
}

// failForCheck makes a run that fails, with every configuration that the bindings name.
func failForCheck(s *step.Scenario) error {
	if name := s.Bound("headers", "flow_key"); name != "" && s.Bound("headers", "flow_value") != "" {
		s.Configure(name, s.Name("flow"))
		s.Configure(s.Bound("headers", "flow_value"), s.FlowValue(step.FlowValues[0]))
	}
	if err := s.WorkflowFailsBinary(); err != nil {
		return err
	}
	if s.Bound("headers", "failure_callback") == "" {
		return s.Die()
	}
	if err := s.DeadRunWithCallback(); err != nil {
		return err
	}
	return s.Settled(s.Runs.Callback, 1)
}

// everyStepForCheck makes a run that has a step of every type and succeeds.
func everyStepForCheck(s *step.Scenario) error {
	third := s.Endpoint("third party")
	third.Aside = true
	s.Runs.Child = workflow.NewPeer(s.Scenario, "the invoked workflow", workflow.Step{Name: "inner", Kind: "Run"})
	if err := s.NewWorkflow(
		workflow.Step{Name: "run", Kind: "Run"},
		workflow.Step{Name: "sleep", Kind: "SleepFor", Seconds: 1},
		workflow.Step{Name: "until", Kind: "SleepUntil", Seconds: 1},
		workflow.Step{Name: "call", Kind: "Call", URL: third.URL},
		workflow.Step{Name: "wait", Kind: "Wait", Seconds: 1, Event: s.Name("event")},
		workflow.Step{Name: "invoke", Kind: "Invoke", URL: s.Runs.Child.Endpoint.URL},
	); err != nil {
		return err
	}
	return harness.InTurn(s.TriggerRun, func() error {
		if s.Clock.Virtual() {
			return s.Clock.Pass(s.Context, 10*time.Second)
		}
		return nil
	}, s.RunSucceeds)
}

// try makes one trial in a separate scenario.
func (st *suite) try(ctx context.Context, t trial) Checked {
	s, err := st.start(ctx, report.Result{})
	if s != nil {
		defer s.Finish()
	}
	seen := ""
	if err == nil {
		err = harness.Guard(func() error {
			seen, err = t.try(s)
			return err
		})
	}
	var without *harness.NoVerdict
	switch {
	case err == nil:
		return Checked{t.entry, true, true, seen}
	case errors.As(err, &without) && without.Verdict == report.NotApplicable: // a profile that the target does not claim
		return Checked{t.entry, false, false, without.Detail}
	case errors.As(err, &without) && without.Verdict == report.Inconclusive && without.Reason != report.DriverFailed && without.Reason != report.TransportFailed:
		return Checked{t.entry, false, false, without.Detail}
	}
	return Checked{t.entry, false, true, strings.Join(strings.Fields(s.Masked(err.Error())), " ")}
}
