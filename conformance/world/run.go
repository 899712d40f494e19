package world

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// Runs are workflow runs. A run has a step that may fail, and further steps for its options.
var Runs = &Kind{Name: "a run", options: runOptions, normal: normalRun, run: runRuns, Rules: runRules}

// runOptions are all dimensions of a run.
var runOptions = []option{
	{"before", "with", []choice{{}, {says: "a step before", n: 1}}},
	{"parallel", "with", []choice{{}, {says: "2 steps side by side", n: 2}, {says: "3 steps side by side", n: 3}, {says: "2 steps side by side, and 2 more", n: 2, twice: true}, {says: "a step beside a sleep of 1 s", n: 1, name: "SleepFor"}}},
	{"sleep", "with", []choice{{}, {says: "a sleep of 1 s", name: "SleepFor"}, {says: "a sleep until 1 s later", name: "SleepUntil"}}},
	{"call", "with", []choice{{}, {says: "a call", n: 1}}},
	{"wait", "with", []choice{{}, {says: "a wait that times out", n: 1}, {says: "2 waits that time out", n: 2}}},
	{"invoke", "with", []choice{{}, {says: "an invoked run", n: 1}, {says: "2 invoked runs", n: 2}, {says: "an invoked run that invokes another", n: 1, twice: true}}},
	{"notify", "with", []choice{{}, {says: "a notification", n: 1}}},
	{"after", "with", []choice{{}, {says: "a step after", n: 1}}},
	{"names", "with", []choice{{}, {says: "step names with quotes and percent signs", values: []string{` "a" %41 / b`}}, {says: "step names in other scripts", values: []string{" größer 配達"}}}},
	{"retries", "with", []choice{{}, {says: "1 retry", n: 1, needs: retryDelay}, {says: "4 retries", n: 4, needs: retryDelay}}},
	{"delay", "with", []choice{{}, {says: "a delay of 2 s", n: 2, needs: "delay.format"}}},
	{"label", "with", []choice{{}, {says: "a label", n: 1, needs: "headers.label"}, {says: "the label of others", n: 2, needs: "headers.label"}}},
	{"key", "with", []choice{{}, {says: "a flow-control key", n: 1, needs: "headers.flow_key"}, {says: "a key that is paused before a restart", n: 2, needs: "drivers.pause", requires: "REQ-RST-003"}, {says: "a paused key that is resumed", n: 3, needs: "drivers.pause"}}},
	{"failure callback", "with", []choice{{}, {says: "a failure callback", n: 1, needs: "headers.failure_callback"}}},
	{"body", "with", append([]choice{{values: []string{`{ "order" : "#",  "café":[1.0, 2e3] }`}}}, AwkwardBodies[:9]...)},
	{"fails", "whose", []choice{
		{},
		{says: "step fails once with 503", n: 1, script: []int{503}},
		{says: "step fails twice with 503", n: 2, script: []int{503}},
		{says: "step always fails with 503", n: -1, script: []int{503}},
		{says: "step fails with 503 and then always with 500", n: -1, script: []int{503, 500}},
		{says: "step fails with 507 and then always breaks the connection", n: -1, script: []int{507, -1}, basis: spec.Implied},
		{says: "step always fails with a body that is not UTF-8", n: -1, script: []int{503}, values: []string{"\xff\xfe\x00#"}},
	}},
	{"recovery", "whose", []choice{{}, {says: "other steps fail once with 500", n: 1}}},
	{"restart", "whose", []choice{
		{},
		{says: "entry is restarted"},
		{says: "entry is restarted with a chosen id", name: header.WorkflowRunID, needs: "capabilities.restart-custom-run-id"},
		{says: "entry is restarted with 1 retry", n: 1, needs: "headers.restart_retries"},
		{says: "entry is restarted with another key", values: []string{"other"}, needs: "headers.restart_flow_key"},
		{says: "entry is restarted with another value of its key", name: header.FlowControlValue},
		{says: "entry is restarted, and that of the new run too", twice: true},
		{says: "entry is restarted with chosen ids, twice", name: header.WorkflowRunID, twice: true, needs: "capabilities.restart-custom-run-id"},
	}},
	{"position", "whose", []choice{{}, {says: "failing step is the last one", n: 1}, {says: "failing step is beside others", n: 2}}},
}

// normalRun replaces choices that others exclude.
func normalRun(t *Thing) {
	p := t.Pick
	if p["fails"] == 0 || t.on("position").n == 2 && (p["parallel"] == 0 || t.on("parallel").name != "") { // whether a sleep ends beside a failure is open
		p["position"] = 0
	}
	if t.on("fails").n >= 0 {
		p["restart"] = 0 // another one may succeed
	}
	if p["retries"] == 0 || p["position"] == 2 {
		p["recovery"] = 0 // which of them ends the run is open
	}
	if c := t.on("restart"); (c.values != nil || c.name == header.FlowControlValue) && p["key"] == 0 {
		p["key"] = 1 // which has a value
	}
}

// work is the step that may fail, attemptHeader a header of its answers, and chosen the end of an id that a
// restart chooses.
const (
	work          = "work"
	attemptHeader = "X-Attempt"
	chosen        = "-Chosen"
)

// steps are the steps of a run; other is the address that a step of a type needs.
func (t *Thing) steps(other func(kind string) string) (list []workflow.Step) {
	suffix := strings.Join(t.on("names").values, "")
	add := func(name, kind string, group int) {
		list = append(list, workflow.Step{Name: name + suffix, Kind: kind, Group: group, Seconds: 1, URL: other(kind), Event: "never-" + t.Key, Fails: t.on("recovery").n, Status: http.StatusInternalServerError})
	}
	fails, position := t.on("fails"), t.on("position").n
	failing := func(group int) {
		add(work, "Run", group)
		st := &list[len(list)-1]
		if st.Fails = fails.n; fails.n != 0 {
			st.Status, st.Later, st.Body = fails.script[0], fails.script[len(fails.script)-1], "attempt #"
			st.Header = http.Header{attemptHeader: {"#"}}
		}
		if fails.values != nil {
			st.Body = fails.values[0]
		}
	}
	if t.on("before").n > 0 {
		add("before", "Run", 0)
	}
	if position == 0 {
		failing(0)
	}
	beside := t.on("parallel")
	for i := range beside.n {
		add(fmt.Sprint("beside ", i+1), "Run", 1)
	}
	if beside.name != "" {
		add("beside", beside.name, 1)
	}
	if position == 2 {
		failing(1)
	}
	if kind := t.on("sleep").name; kind != "" {
		add("sleep", kind, 0)
	}
	if t.on("call").n > 0 {
		add("call", "Call", 0)
	}
	for i := range t.on("wait").n {
		add(fmt.Sprint("wait ", i+1), "Wait", 0)
		list[len(list)-1].Event += strconv.Itoa(i)
	}
	for i := range t.on("invoke").n {
		add(fmt.Sprint("invoke ", i+1), "Invoke", 0)
		list[len(list)-1].Number = i
	}
	if t.on("notify").n > 0 {
		add("notify", "Notify", 0)
	}
	if beside.twice {
		add("more 1", "Run", 2)
		add("more 2", "Run", 2)
	}
	if t.on("after").n > 0 {
		add("after", "Run", 0)
	}
	if position == 1 {
		failing(0)
	}
	return list
}

// Story is what the document says of a run.
type Story struct {
	Steps []workflow.Step // in their order, with the failures that are left
	Tries int             // of the step that may fail
	Fails bool            // the run fails
	Done  map[string]int  // step -> executions
	Delay time.Duration

	Retries int
	Before  int // attempts of the step that may fail, in an earlier run
}

// tell derives the story of a run.
func (t *Thing) tell() *Story {
	y := &Story{Steps: t.steps(func(string) string { return "" }), Delay: time.Duration(t.on("delay").n) * time.Second, Retries: t.on("retries").n}
	y.expect()
	return y
}

// ends reports whether the run fails when a step does.
func (y *Story) ends(st workflow.Step) bool { return st.Fails < 0 || st.Fails > y.Retries }

// failing is how many steps are executed and fail.
func (y *Story) failing() (n int) {
	for _, st := range y.Steps {
		if st.Fails != 0 && y.Done[st.Name] > 0 {
			n++
		}
	}
	return n
}

// expect derives what depends on the number of retries.
func (y *Story) expect() {
	y.Done = map[string]int{}
	at := slices.IndexFunc(y.Steps, y.ends)
	y.Fails = at >= 0
	for i, st := range y.Steps {
		switch {
		case i == at:
			y.Done[st.Name] = y.Retries + 1
		case !y.Fails || i < at || st.Group > 0 && st.Group == y.Steps[at].Group:
			y.Done[st.Name] = st.Fails + 1
		default:
			y.Done[st.Name] = 0
		}
		if strings.HasPrefix(st.Name, work) {
			y.Tries = y.Done[st.Name]
		}
	}
}

// again is the story of a run that is restarted after this one.
func (y *Story) again(retries int) *Story {
	next := &Story{Steps: slices.Clone(y.Steps), Before: y.last(), Retries: retries}
	for i, st := range y.Steps {
		if st.Fails > 0 {
			next.Steps[i].Fails = max(0, st.Fails-y.Done[st.Name])
		}
	}
	next.expect()
	return next
}

// last is the number of the last attempt of the step that may fail.
func (y *Story) last() int { return y.Before + y.Tries }

// status is the answer to an attempt of the step that may fail, 0 if it does not.
func (t *Thing) status(attempt int) int {
	script := t.on("fails").script
	if len(script) == 0 {
		return 0
	}
	return script[min(attempt, len(script))-1]
}

// Tale is what was observed of a run.
type Tale struct {
	Story    *Story
	ID, URL  string
	Payload  []byte
	Label    string
	Key      string
	Value    string // of the key
	Created  int64  // as a restart has answered, in Unix ms; 0: none has
	Calls    []Attempt
	Done     map[string]int
	Events   []any
	Invoked  []any // events of the invoked runs
	Entries  []any
	Callback string // URL
	Called   int    // calls of the failure callback

	other        string         // another value of the key, for a restart
	earlier      map[string]int // executions of the runs that were restarted to this one
	calledBefore int            // the same, of the failure callback

	Restart  *harness.Response // of its entry; nil: none
	Held     bool              // a key held it for a while
	Early    int               // calls meanwhile
	Second   bool              // it is the run of a restart
	peer     *workflow.Peer
	callback *receiver.Endpoint
	ended    bool
}

// runRuns triggers all runs at once, and reads their logs and entries when they have ended.
func runRuns(w *World) error {
	w.poll = 200 * time.Millisecond
	for _, l := range w.Lives {
		w.invent(l)
	}
	err := harness.InTurn(
		func() error { return w.each(w.hold) },
		func() error { return w.each(w.trigger) },
		w.release,
		func() error {
			var dues []time.Duration
			for _, l := range w.Lives {
				dues = append(dues, l.Begun+l.Run.Story.Delay)
			}
			return w.reach(dues, w.ended)
		},
		w.quiet,
		func() error { return w.each(w.read) },
	)
	all := w.Lives
	for range 2 { // restarts, and restarts of what was restarted
		if err == nil {
			err = harness.InTurn(func() error { return w.each(w.hold) }, func() error { return w.each(w.restart) })
		}
		before := w.Lives
		w.Lives = nil
		for _, l := range before {
			if l.Run.Restart != nil && l.Run.Restart.OK() {
				if id, _ := check.Text(l.Run.Restart.JSON, "/workflowRunId"); id != "" {
					w.Lives = append(w.Lives, l.second(id))
				}
			}
		}
		if len(w.Lives) > 0 && err == nil {
			err = harness.InTurn(w.release, func() error { return w.reach(nil, w.ended) }, w.quiet, func() error { return w.each(w.read) })
		}
		all = append(all, w.Lives...)
	}
	w.Lives = all
	return err
}

// hold pauses the key of a run before it starts, or before it is restarted for the first time.
func (w *World) hold(l *Life) error {
	starts := !l.Run.ended
	if l.on("key").n < 2 || l.again || starts != (l.on("key").n > 2) || !starts && l.Pick["restart"] == 0 {
		return nil
	}
	l.Run.Held = starts
	_, err := w.s.Drive("pause", map[string]string{"key": l.key})
	return err
}

// release resumes all keys that hold restarts, after a while.
func (w *World) release() error {
	if !slices.ContainsFunc(w.Lives, func(l *Life) bool { return l.Run.Held }) {
		return nil
	}
	wait := func() error { return w.s.Clock.Wait(w.s.Context, beforeResume) }
	if w.s.Clock.Virtual() {
		wait = func() error { return w.pass(time.Second) }
	}
	return harness.InTurn(wait, func() error {
		return w.each(func(l *Life) error {
			if !l.Run.Held {
				return nil
			}
			l.Run.Early = len(w.calls(l.Run))
			return w.free(l)
		})
	})
}

// restart restarts the entry of a run that says so. A refusal breaks a rule.
func (w *World) restart(l *Life) (err error) {
	c := l.on("restart")
	if c.says == "" || len(l.Run.Entries) == 0 || l.again && !c.twice {
		return nil
	}
	h := http.Header{}
	switch c.name {
	case header.WorkflowRunID:
		h.Set(c.name, l.Run.ID+chosen)
	case header.FlowControlValue:
		h.Set(w.s.Bound("headers", "flow_value"), w.s.FlowValue(harness.FlowValues[1]))
	}
	if c.n > 0 {
		h.Set(w.s.Bound("headers", "restart_retries"), strconv.Itoa(c.n))
	}
	if c.values != nil {
		h.Set(w.s.Bound("headers", "restart_flow_key"), l.Run.Key+c.values[0])
	}
	l.Run.Restart, err = w.s.Do(harness.Request{Operation: "restartWorkflowRun", Vars: map[string]string{"dlqId": text(l.Run.Entries[0], "/dlqId")}, Header: h})
	if err == nil {
		w.s.Looked(l.Run.Restart.Exchange)
	}
	return err
}

// second is the life of the run that a restart has made: the run that was restarted again.
func (l *Life) second(id string) *Life {
	y := *l.Run
	y.Created, _ = check.Integer(y.Restart.JSON, "/workflowCreatedAt")
	y.Story, y.ID, y.Second, y.ended, y.Restart, y.Done, y.Calls, y.Early = y.Story.again(cmp.Or(l.on("restart").n, y.Story.Retries)), id, true, false, nil, map[string]int{}, nil, 0
	if c := l.on("restart"); c.values != nil && !l.again {
		y.Key += c.values[0]
	} else if c.name == header.FlowControlValue {
		y.Value = y.other
	}
	y.Held = l.on("key").n == 2 && !l.again && l.on("restart").values == nil
	y.earlier, y.calledBefore = map[string]int{}, y.calledBefore+y.Called
	for name, n := range l.Run.Done {
		y.earlier[name] = l.Run.earlier[name] + n
	}
	return &Life{Thing: l.Thing, Run: &y, again: true, key: y.Key}
}

// invent makes the workflow of a run.
func (w *World) invent(l *Life) {
	y := &Tale{Story: l.tell(), ID: "wfr_" + w.s.Key + l.Key, Done: map[string]int{}}
	l.Run, l.key = y, w.s.Name("key"+l.Key)
	y.Payload, _ = l.body()
	steps := l.steps(func(kind string) string {
		switch kind {
		case "Call":
			e := w.s.Endpoint(l.Key + " third party")
			e.Aside = true
			return e.URL
		case "Invoke":
			inner := workflow.Step{Name: "inner", Kind: "Run"}
			if l.on("invoke").twice {
				inner.Kind, inner.URL = "Invoke", workflow.NewPeer(w.s, l.Key+" invoked by it", inner).Endpoint.URL
			}
			return workflow.NewPeer(w.s, l.Key+" invoked", inner).Endpoint.URL
		}
		return ""
	})
	y.peer = workflow.NewPeer(w.s, l.Key+" workflow", steps...)
	y.URL = y.peer.Endpoint.URL
	answer := y.peer.Endpoint.Respond
	y.peer.Endpoint.Respond = func(got *receiver.Received) receiver.Reply {
		w.stamp(got)
		return answer(got)
	}
	if l.Pick["failure callback"] > 0 {
		y.callback = w.s.Endpoint(l.Key + " failure callback")
		y.callback.Aside, y.Callback = true, y.callback.URL
	}
}

// trigger starts a run by the driver of the target file.
func (w *World) trigger(l *Life) (err error) {
	y, h := l.Run, http.Header{header.Retries: {strconv.Itoa(l.on("retries").n)}}
	set := func(binding, value string) string {
		if l.Pick[binding] == 0 {
			return ""
		}
		h.Set(w.s.Bound("headers", map[string]string{"key": "flow_key", "failure callback": "failure_callback", "label": "label"}[binding]), value)
		return value
	}
	y.Label, y.Key = set("label", map[int]string{1: "label-" + l.Key, 2: "label-" + w.tag + "shared"}[l.on("label").n]), set("key", l.key)
	if y.Key != "" {
		y.Value, y.other = w.s.FlowValue(harness.FlowValues[0]), w.s.FlowValue(harness.FlowValues[1])
		h.Set(w.s.Bound("headers", "flow_value"), y.Value)
	}
	set("failure callback", y.Callback)
	if n := l.on("delay").n; n > 0 {
		h.Set(header.Delay, strings.ReplaceAll(w.s.Bound("delay", "format"), "{n}", strconv.Itoa(n)))
	}
	if wait := w.s.Bound("headers", "retry_delay"); wait != "" {
		h.Set(wait, harness.RetryDelay)
	}
	l.Begun = w.now()
	y.ID, err = w.s.Trigger(y.URL, y.ID, string(y.Payload), h)
	return err
}

// ended reports whether the logs show the end of every run. The log of a failed request has none.
func (w *World) ended() bool {
	_ = w.each(func(l *Life) error {
		if y := l.Run; !y.ended {
			events, err := w.s.EventsOf(y.ID)
			y.ended = err == nil && !y.peer.Endpoint.Busy() && slices.ContainsFunc(events, func(e any) bool { return slices.Contains([]string{"RUN_SUCCESS", "RUN_FAILED"}, text(e, "/state")) })
			return err
		}
		return nil
	})
	return !slices.ContainsFunc(w.Lives, func(l *Life) bool { return !l.Run.ended })
}

// calls are the calls of the workflow so far that are of a run.
func (w *World) calls(y *Tale) []Attempt {
	return slices.DeleteFunc(w.stamped(y.peer.Endpoint.Look()), func(got Attempt) bool { return got.Header.Get(header.WorkflowRunID) != y.ID })
}

// read reads all that the target shows of a run.
func (w *World) read(l *Life) (err error) {
	y := l.Run
	y.Calls, y.Invoked = w.calls(y), nil
	for _, st := range y.Story.Steps {
		y.Done[st.Name] = y.peer.Executions(st.Name) - y.earlier[st.Name]
	}
	if y.callback != nil {
		y.Called = len(y.callback.Look()) - y.calledBefore
	}
	y.Events, err = w.s.EventsOf(y.ID)
	for id := range l.invokers() {
		if err == nil {
			var events []any
			events, err = w.s.EventsOf(id)
			y.Invoked = append(y.Invoked, events...)
		}
	}
	if err == nil {
		y.Entries, err = w.s.EntriesOf(y.ID)
	}
	return err
}

// invokers are the runs below a run, each with the run that invokes it.
func (l *Life) invokers() map[string]string {
	by := map[string]string{}
	l.Run.executed(func(st workflow.Step) {
		if st.Kind == "Invoke" {
			id := workflow.InvokedID(l.Run.ID, st.Number)
			if by[id] = l.Run.ID; l.on("invoke").twice {
				by[workflow.InvokedID(id, 0)] = id
			}
		}
	})
	return by
}

// text is a text in an item, "" for none.
func text(item any, pointer string) string {
	v, _ := check.Text(item, pointer)
	return v
}
