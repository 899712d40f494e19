package conformance

import (
	"cmp"
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
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/step"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/internal/clip"
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

// headerTrial tries a configuration header on a message: a header works when something differs from
// a message without it.
type headerTrial struct {
	value   func(*step.Scenario) string
	retries string                                           // of a message whose first attempt fails; "": it succeeds
	differs func(st *suite, s *step.Scenario) (string, bool) // nil: a message shows nothing
}

// headerTrials are the trials of configuration headers. Sorted.
var headerTrials = map[string]headerTrial{
	"callback":         {callbackURL, "", calledBack},
	"failure_callback": {callbackURL, "0", calledBack},
	"flow_key":         {func(s *step.Scenario) string { return s.Name("flow") }, "", leftIn("flow_key")},
	"flow_value":       {func(s *step.Scenario) string { return s.FlowValue(harness.FlowValues[0]) }, "", nil},
	"label":            {func(s *step.Scenario) string { return s.Name("label") }, "", leftIn("label")},
	"method": {func(*step.Scenario) string { return http.MethodPut }, "", func(_ *suite, s *step.Scenario) (string, bool) {
		got := s.Endpoint("destination").Look()
		return "the message arrived by PUT", len(got) > 0 && got[0].Method == http.MethodPut
	}},
	"retry_delay": {func(*step.Scenario) string { return harness.RetryDelay }, "1", func(_ *suite, s *step.Scenario) (string, bool) {
		return "the message was tried again before one without the header", len(s.Endpoint("destination").Look()) > 1 && len(s.Endpoint("without").Look()) == 1
	}},
	"timeout": {func(*step.Scenario) string { return "10s" }, "", nil},
}

func callbackURL(s *step.Scenario) string { return s.Endpoint("callback").URL }

func calledBack(_ *suite, s *step.Scenario) (string, bool) {
	return "the callback was called", len(s.Endpoint("callback").Look()) > 0
}

// leftIn finds a value in the entry of a run that was triggered with the header.
func leftIn(field string) func(*suite, *step.Scenario) (string, bool) {
	return func(st *suite, s *step.Scenario) (string, bool) {
		name := s.Bound("fields.dlq", field)
		seen, err := st.tryField("dlq", name)
		return seen, name != "" && err == nil
	}
}

// notUnderstood is the result of what the target accepted without a difference.
func notUnderstood() error {
	return harness.Inconclusive(report.NotTried, "sent; not known whether it is understood")
}

// filterTrials are the values of filters in a trial, by the name of the binding: all but a size and a
// state fit nothing.
var filterTrials = map[string]string{
	"callback_state": "CALLBACK_FAIL", "caller_ip": "192.0.2.1", "count": "1", "created_at": "1767225600000", "from": "4102444800000",
	"label": "none", "message_id": "none", "response_status": "418", "run_id": "none", "state": "RUN_STARTED", "to": "946684800000",
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
		all = append(all, trial{"bindings.headers." + name, func(s *step.Scenario) (string, error) { return st.tryHeader(s, name, b.Headers[name]) }})
	}
	if format := b.Delay["format"]; format != "" {
		all = append(all, trial{"bindings.delay.format", func(s *step.Scenario) (string, error) {
			return tryDelay(s, format)
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
				return st.tryFilter(s, list.operation, filter, list.names[filter])
			}})
		}
	}
	return append(all, st.fieldTrials(b.Fields)...)
}

// tryHeader publishes a message with a configuration header, and looks for a difference.
func (st *suite) tryHeader(s *step.Scenario, name, bound string) (string, error) {
	trial, known := headerTrials[name]
	if !known {
		return "", harness.Inconclusive(report.NotTried, "only a restart takes it")
	}
	h := http.Header{}
	if name == "flow_key" || name == "flow_value" { // neither works without the other
		if s.Bound("headers", "flow_key") == "" || s.Bound("headers", "flow_value") == "" {
			return "", harness.Inconclusive(report.NotTried, "headers.flow_key and headers.flow_value are tried together")
		}
		h.Set(s.Bound("headers", "flow_key"), s.Name("flow"))
		h.Set(s.Bound("headers", "flow_value"), s.FlowValue(harness.FlowValues[0]))
	}
	if trial.retries != "" {
		h.Set(header.Retries, trial.retries)
		for _, name := range []string{"without", "destination"} {
			s.Endpoint(name).Answer(nil, receiver.Reply{Status: http.StatusServiceUnavailable})
		}
		if err := tryPublish(s, "without", h); err != nil {
			return "", err
		}
	}
	h.Set(bound, trial.value(s))
	if err := tryPublish(s, "destination", h); err != nil || trial.differs == nil {
		return "", cmp.Or(err, notUnderstood())
	}
	seen, differs := "", false
	if err := s.Clock.Eventually(s.Context, 3*time.Second, func() error {
		if seen, differs = trial.differs(st, s); !differs {
			return errors.New("no difference yet")
		}
		return nil
	}); err != nil {
		return "", notUnderstood()
	}
	return fmt.Sprintf("%s: %s: %s", s.Suite.Branded(bound), trial.value(s), seen), nil
}

// tryPublish publishes a message with headers and waits for it.
func tryPublish(s *step.Scenario, endpoint string, h http.Header) error {
	e := s.Endpoint(endpoint)
	a, err := s.Do(harness.Request{
		Operation: "publishMessage", Vars: map[string]string{"destination": e.URL}, Method: s.PublishMethod(), Header: h.Clone(), Body: []byte("check"),
	})
	if err := errors.Join(err, notAccepted(a)); err != nil {
		return err
	}
	return s.Settled(e, 1)
}

// tryDelay publishes a message that is delayed: another one must arrive before it.
func tryDelay(s *step.Scenario, format string) (string, error) {
	e, delay := s.Endpoint("destination"), strings.ReplaceAll(format, "{n}", "3")
	a, err := s.Do(harness.Request{
		Operation: "publishMessage", Vars: map[string]string{"destination": e.URL}, Method: s.PublishMethod(),
		Header: http.Header{header.Delay: {delay}}, Body: []byte("check"),
	})
	if err := errors.Join(err, notAccepted(a)); err != nil {
		return "", err
	}
	if err := s.Absent(func() error {
		if len(e.Look()) > 0 {
			return notUnderstood()
		}
		return nil
	}); err != nil {
		return "", err
	}
	if err := s.Clock.Pass(s.Context, 3*time.Second); err != nil {
		return "", err
	}
	return fmt.Sprintf("a message with %s: %s arrived after one without", s.Suite.Branded(header.Delay), delay), s.Settled(e, 1)
}

// tryFilter reads a list with a filter and without: it must list less of what runs have left.
func (st *suite) tryFilter(s *step.Scenario, operation, filter, name string) (string, error) {
	value, known := filterTrials[filter]
	if !known {
		return "", harness.Inconclusive(report.NotTried, "it is used when a list has a second page")
	}
	if _, _ = st.leftovers(); st.leftAuth != (target.Auth{}) { // without runs there may be other items
		s.Auth = st.leftAuth
	}
	var lists [2][]any
	for i, query := range []url.Values{{}, {name: {value}}} {
		a, err := s.Do(harness.Request{Operation: operation, Query: query})
		if err := errors.Join(err, notAccepted(a)); err != nil {
			return "", err
		}
		lists[i], _ = a.List(harness.ListField[operation]) // a scenario judges its form
	}
	if all, listed := len(lists[0]), len(lists[1]); all <= listed || listed > 0 && filter != "count" && filter != "state" {
		return "", notUnderstood()
	}
	return fmt.Sprintf("with %s=%s the list has %d items, without it %d", name, value, len(lists[1]), len(lists[0])), nil
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
		if st.leftAuth == (target.Auth{}) {
			st.leftAuth = s.Auth
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
		s.Configure(s.Bound("headers", "flow_value"), s.FlowValue(harness.FlowValues[0]))
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
	_ = s.Settled(s.Runs.Callback, 1) // without it, its values are not found
	return nil
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
	return Checked{t.entry, false, true, clip.Line(s.Masked(err.Error()))}
}
