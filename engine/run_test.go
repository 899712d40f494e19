package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/textproto"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// node is a part of a scripted workflow: one step, or several side by side.
type node struct {
	name     string
	kind     string        // Run (also ""), Call, Wait or Invoke
	ends     time.Duration // after which the result of one with a kind arrives
	sleep    time.Duration
	failures int // attempts of this step that fail
	fatal    bool
	parallel []node
}

// endpoint is a workflow endpoint in memory: it speaks the protocol as client
// libraries do.
type endpoint struct {
	nodes []node
	after func(a *engine.Account, runID, step string) // after a step was executed
	lost  string                                      // step whose submission takes effect, but answers 500
	fatal map[string]bool                             // steps whose next attempt fails their run

	losses map[string]int // as lost, but only the first n submissions

	mu       sync.Mutex
	account  *engine.Account
	executed map[string][]string // run -> names of executed steps
	repeats  []string            // what an endpoint has received twice in one list
	failed   map[string]int
}

type rawItem struct {
	Body     string `json:"body"`
	CallType string `json:"callType"`
}

type rawStep struct {
	ID     int    `json:"stepId"`
	Name   string `json:"stepName"`
	Type   string `json:"stepType"`
	Out    string `json:"out,omitempty"`
	Of     int    `json:"concurrent"`
	Target int    `json:"targetStep,omitempty"`

	Sleep float64 `json:"sleepFor,omitempty"` // s
}

var sdkAnswer = engine.Header{"Svc-Workflow-Sdk-Version": {"1"}}

func (e *endpoint) Deliver(_ context.Context, a engine.Attempt) engine.Outcome {
	runID := a.Message.RunID
	switch {
	case a.Message.Role == engine.RoleFailureCallback:
		return engine.Outcome{Status: 200}
	case a.Message.Role == engine.RoleCall:
		nd := e.step(a.Message.Step.Step.ID)
		return engine.Outcome{Status: 200, Body: []byte(nd.name), After: nd.ends}
	case a.Message.Role == engine.RoleCallback:
		s := a.Message.Step.Step
		return engine.Outcome{Status: e.submit(runID, 0, rawStep{ID: s.ID, Name: s.Name, Type: "Call", Out: s.CallResponseBody, Of: s.Concurrent}), Header: sdkAnswer}
	case a.Message.URL == childURL:
		return engine.Outcome{Status: e.child(runID, len(a.Steps)), Header: sdkAnswer}
	}
	var items []rawItem
	if err := json.Unmarshal(wire.StepList(a.Steps), &items); err != nil || len(items) == 0 {
		return engine.Outcome{Status: 400, Body: []byte("not a step list: " + err.Error())}
	}
	steps := make([]rawStep, 0, len(items))
	for _, it := range items[1:] {
		b, err := base64.StdEncoding.DecodeString(it.Body)
		var s rawStep
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err != nil {
			return engine.Outcome{Status: 400, Body: []byte(err.Error())}
		}
		for _, before := range steps {
			if before.ID == s.ID && before.Target == s.Target {
				e.mu.Lock()
				e.repeats = append(e.repeats, string(b))
				e.mu.Unlock()
				return engine.Outcome{Status: 200, Header: sdkAnswer} // a client library ignores it
			}
		}
		steps = append(steps, s)
	}
	if status := e.proceed(runID, steps); status != 200 {
		h := engine.Header{}
		if status == 489 {
			h[textproto.CanonicalMIMEHeaderKey("Svc-NonRetryable-Error")] = []string{"true"}
		}
		return engine.Outcome{Status: status, Header: h, Body: []byte(`{"message":"step failed"}`)}
	}
	return engine.Outcome{Status: 200, Header: sdkAnswer}
}

// proceed does what comes next for the list of steps.
func (e *endpoint) proceed(runID string, steps []rawStep) int {
	if n := len(steps); n > 0 && steps[n-1].Target > 0 {
		return e.execute(runID, steps[n-1].Target, steps[n-1].Of)
	}
	id := 1
	for _, nd := range e.nodes {
		width := max(1, len(nd.parallel))
		entries := 0
		for _, s := range steps {
			if at := max(s.ID, s.Target); at >= id && at < id+width {
				entries++
			}
		}
		switch {
		case width == 1 && entries == 0:
			return e.execute(runID, id, 1)
		case width > 1 && entries == 0:
			plans := make([]rawStep, width)
			for i, p := range nd.parallel {
				plans[i] = rawStep{Name: p.name, Type: p.typed(), Of: width, Target: id + i, Sleep: p.sleep.Seconds()}
			}
			return e.submit(runID, 0, plans...)
		case width > 1 && entries < 2*width:
			return 200
		}
		id += width
	}
	if err := e.account.FinishRun(runID, resultOf(steps), time.Time{}); err != nil {
		return 500
	}
	return 200
}

// step is the node with that id.
func (e *endpoint) step(id int) node {
	at := 1
	for _, nd := range e.nodes {
		if width := max(1, len(nd.parallel)); id < at+width {
			if nd.parallel != nil {
				return nd.parallel[id-at]
			}
			return nd
		} else {
			at += width
		}
	}
	return node{}
}

func (e *endpoint) execute(runID string, id, of int) int {
	nd := e.step(id)
	e.mu.Lock()
	if e.fatal[nd.name] {
		delete(e.fatal, nd.name)
		e.mu.Unlock()
		return 489
	}
	if e.failed[runID+nd.name] < nd.failures {
		e.failed[runID+nd.name]++
		e.mu.Unlock()
		if nd.fatal {
			return 489
		}
		return 500
	}
	e.executed[runID] = append(e.executed[runID], nd.name)
	e.mu.Unlock()
	if e.after != nil {
		e.after(e.account, runID, nd.name)
	}
	s, delay := rawStep{ID: id, Name: nd.name, Type: nd.typed(), Out: `"` + nd.name + `"`, Of: of, Sleep: nd.sleep.Seconds()}, nd.sleep
	if of > 1 {
		delay = 0 // its plan has slept
	}
	var status int
	switch nd.kind {
	case "Call", "Wait", "Invoke":
		s.Out = ""
		status = e.ask(runID, s)
	default:
		status = e.submit(runID, delay, s)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.losses[nd.name]--; nd.name == e.lost || e.losses[nd.name] >= 0 {
		return 500
	}
	return status
}

func (e *endpoint) submit(runID string, delay time.Duration, steps ...rawStep) int {
	requests := make([]engine.PublishRequest, len(steps))
	for i, s := range steps {
		body, _ := json.Marshal(s)
		init := false
		if s.Target > 0 {
			delay = time.Duration(s.Sleep * float64(time.Second))
		}
		requests[i] = engine.PublishRequest{URL: "http://app.test/wf", Body: body,
			Options: engine.Options{Delay: delay, Workflow: &engine.Workflow{Init: &init, RunID: runID}}}
	}
	if _, err := e.account.PublishBatch(requests); err != nil {
		return 200 // the run is over
	}
	return 200
}

func workflow(t interface{ Cleanup(func()) }, nodes ...node) *endpoint {
	e := &endpoint{nodes: nodes, executed: map[string][]string{}, failed: map[string]int{}, losses: map[string]int{}}
	e.account = engine.New(engine.Config{ID: "t", Clock: clock.NewManual(time.UnixMilli(1_800_000_000_000)), Deliver: e.Deliver, Wire: wire.Format{}, Strict: true})
	t.Cleanup(func() { _ = e.account.Close() })
	return e
}

func (e *endpoint) trigger(id string, opts engine.Options) string {
	init := true
	opts.Workflow = &engine.Workflow{Init: &init, RunID: id, URL: "http://app.test/wf", Features: []string{"WF_DetectTrigger"}}
	receipts, err := e.account.Publish(engine.PublishRequest{URL: "http://app.test/wf", Body: []byte("payload"), Options: opts})
	if err != nil {
		panic(err)
	}
	return receipts.One.RunID
}

func (e *endpoint) advance(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(time.Minute))
	defer cancel()
	if _, err := e.account.Advance(ctx, e.account.Now().Add(d)); err != nil {
		panic(err)
	}
}

// log is the states of a run, oldest first.
func (e *endpoint) log(id string) []engine.Event {
	var events []engine.Event
	f := engine.Filter{RunIDs: []string{id}, WorkflowOnly: true}
	for {
		p, err := e.account.Events(f)
		if err != nil {
			panic(err)
		}
		events = append(events, p.Items...)
		if f.Cursor = p.Cursor; p.Cursor == "" {
			slices.Reverse(events)
			return events
		}
	}
}

func TestSequentialRunExecutesEachStepOnce(t *testing.T) {
	t.Parallel()
	e := workflow(t, node{name: "a"}, node{name: "nap", sleep: time.Hour}, node{name: "b"})
	id := e.trigger("", engine.Options{})
	e.advance(0)
	if got := e.executed[id]; !slices.Equal(got, []string{"a", "nap"}) {
		t.Fatalf("executed %v before the sleep is over", got)
	}
	e.advance(time.Hour)
	if got := e.executed[id]; !slices.Equal(got, []string{"a", "nap", "b"}) {
		t.Errorf("executed %v", got)
	}
	r, err := e.account.Run(id)
	expect.Nil(t, "reading the run", err)
	expect.Equal(t, "state of the run", r.State, engine.RunSuccess)
	expect.Equal(t, "result of the run", string(r.Result), "1 Run a=\"a\"\n2 SleepFor nap=\"nap\"\n3 Run b=\"b\"\n")
}

func TestAnAdvanceCountsEachRunThatItWokeOnce(t *testing.T) {
	t.Parallel()
	e := workflow(t, node{name: "nap", sleep: time.Hour}, node{name: "again", sleep: time.Hour}, node{name: "a"})
	e.trigger("", engine.Options{})
	e.trigger("", engine.Options{})
	for _, c := range []struct {
		by   time.Duration
		want int
	}{{30 * time.Minute, 0}, {24 * time.Hour, 2}, {time.Hour, 0}} {
		p, err := e.account.Advance(t.Context(), e.account.Now().Add(c.by))
		expect.Nil(t, "advancing the clock", err)
		expect.Equal(t, "woken runs after "+c.by.String(), p.RunsWoken, c.want)
	}
}

func TestThousandConcurrentRunsOfTenSteps(t *testing.T) {
	t.Parallel()
	runs := effort.Amount(t, "WORKFLOWS", 50, 1000)
	nodes := make([]node, 10)
	for i := range nodes {
		nodes[i] = node{name: fmt.Sprint("s", i)}
	}
	e := workflow(t, nodes...)
	for i := range runs {
		e.trigger(fmt.Sprint("wfr_", i), engine.Options{})
	}
	e.advance(0)
	for i := range runs {
		id := fmt.Sprint("wfr_", i)
		if r, err := e.account.Run(id); err != nil || r.State != engine.RunSuccess {
			t.Fatalf("%s: %v %s", id, err, r.State)
		}
		if n := len(e.executed[id]); n != 10 {
			t.Fatalf("%s executed %d steps", id, n)
		}
		delivered := map[string]int{}
		for _, ev := range e.log(id) {
			if ev.State == string(engine.Delivered) {
				delivered[ev.Message.ID]++
			}
		}
		for m, n := range delivered {
			if n != 1 {
				t.Errorf("%s: message %s delivered %d times", id, m, n)
			}
		}
		if len(delivered) != 11 {
			t.Errorf("%s: %d deliveries, want 11", id, len(delivered))
		}
	}
}

// The log of any run is a legal path, and a restart equals a first run.
func TestRandomWorkflowsFollowTheStateTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) node {
			return node{
				sleep:    time.Duration(rapid.SampledFrom([]int{0, 0, 0, 5, 3600}).Draw(t, "sleep")) * time.Second,
				failures: rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 9}).Draw(t, "failures"),
				fatal:    rapid.Bool().Draw(t, "fatal"),
			}
		})
		nodes := rapid.SliceOfN(gen, 1, 5).Draw(t, "nodes")
		for i := range nodes {
			nodes[i].name = fmt.Sprint("s", i)
			if nodes[i].sleep == 0 && rapid.IntRange(0, 3).Draw(t, "wide") == 0 {
				wide := rapid.SliceOfN(gen, 2, 4).Draw(t, "parallel")
				for k := range wide {
					wide[k].name, wide[k].sleep = fmt.Sprint("s", i, "_", k), 0
				}
				nodes[i].parallel = wide
			}
		}
		e := workflow(t, nodes...)
		cancelAt := ""
		if rapid.IntRange(0, 4).Draw(t, "cancel") == 0 {
			cancelAt = nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "at")].name
			e.after = func(a *engine.Account, runID, step string) {
				if step == cancelAt {
					_ = a.CancelRun(runID) // it may have ended
				}
			}
		}
		retries := 2
		id := e.trigger("", engine.Options{Retries: &retries})
		e.advance(30 * 24 * time.Hour)
		legal(t, e.log(id))
		traced(t, e, id)
		r, err := e.account.Run(id)
		expect.NoError(t, err)
		dlq, err := e.account.DLQ(engine.Filter{RunIDs: []string{id}})
		expect.NoError(t, err)
		if (r.State == engine.RunFailed) != (len(dlq.Items) == 1) || len(dlq.Items) > 1 {
			t.Fatalf("%s with %d DLQ entries", r.State, len(dlq.Items))
		}
		if r.State != engine.RunFailed {
			return
		}
		// What failed permanently is well now: the restart must equal a first run
		// of a workflow that never failed.
		e.mu.Lock()
		for i := range e.nodes {
			e.nodes[i].failures = 0
			for k := range e.nodes[i].parallel {
				e.nodes[i].parallel[k].failures = 0
			}
		}
		e.mu.Unlock()
		ref, err := e.account.Restart(dlq.Items[0].ID, engine.Options{}, false)
		expect.NoError(t, err)
		e.advance(30 * 24 * time.Hour)
		fresh := e.trigger("", engine.Options{Retries: &retries})
		e.advance(30 * 24 * time.Hour)
		traced(t, e, ref.ID)
		got, want := slices.Sorted(slices.Values(e.executed[ref.ID])), slices.Sorted(slices.Values(e.executed[fresh]))
		if ref.ID == id || !slices.Equal(got, want) {
			t.Fatalf("restart executed %v, a first run %v", got, want)
		}
		if again, err := e.account.DLQ(engine.Filter{RunIDs: []string{id}}); err != nil || len(again.Items) != 0 {
			t.Fatalf("the entry is still there: %v", err)
		}
	})
}

// legal checks the table "States and transitions".
func legal(t interface{ Fatalf(string, ...any) }, events []engine.Event) {
	started, ended := 0, ""
	messages := map[string]string{}
	next := map[string][]string{
		"":                 {"CREATED"},
		"CREATED":          {"ACTIVE", "CANCEL_REQUESTED"},
		"ACTIVE":           {"DELIVERED", "ERROR", "CANCEL_REQUESTED"},
		"ERROR":            {"RETRY", "FAILED", "CANCEL_REQUESTED"},
		"RETRY":            {"ACTIVE", "CANCEL_REQUESTED"},
		"CANCEL_REQUESTED": {"CANCELED", "DELIVERED"},
	}
	for _, e := range events {
		switch {
		case e.State == "RUN_STARTED":
			started++
		case e.Message == nil && ended != "":
			t.Fatalf("%s after %s", e.State, ended)
		case e.Message == nil && (e.State == string(engine.WaiterAdded) || e.State == string(engine.Invoked)): // changes nothing
		case e.Message == nil:
			ended = e.State
		}
		if e.Message == nil {
			if e.Step != nil {
				t.Fatalf("stepInfo on %s", e.State)
			}
			continue
		}
		if e.Step == nil {
			t.Fatalf("no stepInfo on %s", e.State)
		}
		before := messages[e.Message.ID]
		if !slices.Contains(next[before], e.State) {
			t.Fatalf("message %s goes from %q to %s", e.Message.ID, before, e.State)
		}
		messages[e.Message.ID] = e.State
	}
	if started != 1 || ended == "" {
		t.Fatalf("%d starts, ended %q", started, ended)
	}
	for id, state := range messages {
		if ends := []string{"DELIVERED", "FAILED", "CANCELED"}; !slices.Contains(ends, state) {
			t.Fatalf("the last state of message %s: got %s, want one of %v", id, state, ends)
		}
	}
}

func TestAResumedRunContinuesAfterTheStepsOfACallThatFailed(t *testing.T) {
	t.Parallel()
	for name, attempts := range map[string]int{"whose next call was not made": 1, "which has submitted its step twice": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := workflow(t, node{name: "a"}, node{name: "b"}, node{name: "nap", sleep: 24 * time.Hour}, node{name: "c"})
			e.lost = "a"
			e.trigger("run0", engine.Options{Retries: new(attempts - 1)})
			e.advance(time.Hour)
			failed, err := e.account.DLQ(engine.Filter{})
			expect.Nil(t, "the DLQ", err)
			expect.Equal(t, "entries of the DLQ", len(failed.Items), 1)
			ref, err := e.account.Restart(failed.Items[0].ID, engine.Options{}, true)
			expect.Nil(t, "resuming the run", err)
			e.advance(48 * time.Hour)
			r, err := e.account.Run(ref.ID)
			expect.Nil(t, "reading the run", err)
			expect.Equal(t, "state of the run", r.State, engine.RunSuccess)
			if slices.Contains(e.executed[ref.ID], "a") {
				t.Errorf("executed %v, want no finished step", e.executed[ref.ID])
			}
		})
	}
}

// The answer of a third party may be what could not be delivered: it is in no list.
func TestAResumedRunGoesOnWhereAnAnswerFailed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = func(at engine.Attempt) engine.Outcome {
		if at.Message.Role == engine.RoleCallback {
			return engine.Outcome{Status: 500}
		}
		return engine.Outcome{Status: 200}
	}
	w.send(engine.PublishRequest{URL: "https://app.test/wf", Options: engine.Options{Retries: new(0), Callback: &engine.Callback{URL: "https://cb.test/"},
		Workflow: &engine.Workflow{Init: new(true), RunID: "run0"}}})
	w.settle()
	entries := w.dlq()
	expect.Equal(expect.Now(t), "number of DLQ entries", len(entries), 1)
	ref, err := w.Restart(entries[0].ID, engine.Options{}, true)
	w.must(err)
	w.settle()
	made := w.made()
	if last := made[len(made)-1].Message; last.RunID != ref.ID || last.Role != engine.RoleStep {
		t.Errorf("the last attempt is of run %s, a %s; want a step of %s", last.RunID, last.Role, ref.ID)
	}
}
