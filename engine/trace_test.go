package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// traced holds the time axis of a run to what has happened: each step that was
// executed has one span, and its parts follow each other inside of the run.
func traced(t expect.T, e *endpoint, id string) {
	trace, err := e.account.RunTrace(id)
	if err != nil {
		t.Fatalf("the trace of run %s: got %v, want no error", id, err)
	}
	names := map[string]int{}
	for _, s := range trace.Spans {
		names[s.Step.Name]++
		if s.From.Before(trace.Run.CreatedAt) || s.To.Before(s.From) {
			t.Fatalf("%s: span of %q from %s to %s, the run began %s", id, s.Step.Name, s.From, s.To, trace.Run.CreatedAt)
		}
		at := s.From
		for _, p := range s.Parts {
			expect.True(expect.Now(t), fmt.Sprintf("%s: !p.From.Before(at)", id), !p.From.Before(at))
			expect.True(expect.Now(t), fmt.Sprintf("%s: !p.To.Before(p.From)", id), !p.To.Before(p.From))
			expect.True(expect.Now(t), fmt.Sprintf("%s: !p.To.IsZero()", id), !p.To.IsZero())
			at = p.To
		}
	}
	for _, name := range e.executed[id] {
		if names[name] < 1 && trace.Run.State == engine.RunSuccess { // else its result may have come too late
			t.Fatalf("%s: %q was executed, and has no span: %v", id, name, names)
		}
		if names[name] > 1 {
			t.Fatalf("%s: %q has %d spans", id, name, names[name])
		}
	}
}

// TestRunTrace looks at each kind of part.
func TestRunTrace(t *testing.T) {
	t.Parallel()
	e := workflow(t, node{name: "a"}, node{name: "nap", sleep: time.Hour}, node{name: "b", failures: 1})
	retries := 2
	id := e.trigger("wfr_1", engine.Options{Retries: &retries})
	e.advance(0)
	trace, err := e.account.RunTrace(id)
	expect.NoError(t, err)
	if last := trace.Spans[len(trace.Spans)-1]; last.Step.Name != "nap" || last.To.Sub(last.From) != time.Hour {
		t.Errorf("asleep: %+v", last)
	}
	e.advance(2 * time.Hour)
	if trace, err = e.account.RunTrace(id); err != nil {
		t.Fatal(err)
	}
	kinds := map[string][]string{}
	for _, s := range trace.Spans {
		for _, p := range s.Parts {
			kinds[s.Step.Name] = append(kinds[s.Step.Name], p.Kind)
		}
	}
	for name, want := range map[string][]string{"a": {"waiting", "running"}, "nap": {"waiting", "running", "sleeping"}, "b": {"failed", "retrying", "running"}} {
		if !slices.Equal(kinds[name], want) {
			t.Errorf("parts of %s: %v, want %v", name, kinds[name], want)
		}
	}
}

// TestRunTraceOfACall follows a step that calls a third party: it has one span, with the
// attempts of the call. What the endpoint did before and after has no number.
func TestRunTraceOfACall(t *testing.T) {
	t.Parallel()
	const url, third = "https://app.test/wf", "https://bank.test/rate"
	var w *world
	asked, called, init := 0, 0, false
	step := func(kind string) []byte {
		return fmt.Appendf(nil, `{"stepId":1,"stepName":"ask","stepType":%q,"out":"1","concurrent":1}`, kind)
	}
	deliver := func(at engine.Attempt) engine.Outcome {
		within := engine.Workflow{Init: &init, RunID: at.Message.RunID, URL: url}
		switch {
		case at.Message.URL == third:
			if called++; called == 1 {
				return engine.Outcome{Err: "connection was refused"}
			}
			return engine.Outcome{Status: 200, Body: []byte("1.08")}
		case at.Message.Role == engine.RoleCallback:
			w.send(engine.PublishRequest{URL: url, Body: step("Call"), Options: engine.Options{Workflow: &within}})
		case len(at.Steps) == 1:
			if asked++; asked == 1 {
				return engine.Outcome{Status: 503}
			}
			within.CallType = "toCallback"
			w.send(engine.PublishRequest{URL: third, Body: []byte("rate?"), Options: engine.Options{Retries: new(3), Workflow: &within,
				Callback: &engine.Callback{URL: url, Options: engine.Options{Forward: engine.Header{"Svc-Workflow-Stepid": {"1"}, "Svc-Workflow-Stepname": {"ask"}, "Svc-Workflow-Steptype": {"Call"}, "Svc-Workflow-Concurrent": {"1"}}}}}})
		default:
			if err := w.FinishRun(at.Message.RunID, nil, time.Time{}); err != nil {
				t.Error(err)
			}
		}
		return engine.Outcome{Status: 200, Header: sdkAnswer}
	}
	w = setup(t)
	w.answer = deliver
	w.send(engine.PublishRequest{URL: url, Options: engine.Options{Retries: new(3), Workflow: &engine.Workflow{Init: new(true), RunID: "wfr_1", URL: url}}})
	for range 3 {
		w.advance(time.Hour)
	}
	trace, err := w.RunTrace("wfr_1")
	expect.NoError(t, err)
	spans := []engine.Span{}
	for _, s := range trace.Spans {
		if s.Step.Name == "ask" {
			spans = append(spans, s)
		}
	}
	if trace.Run.State != engine.RunSuccess || len(spans) != 1 {
		t.Fatalf("the run is %s, the step has %d spans, want 1: %+v", trace.Run.State, len(spans), trace.Spans)
	}
	tried := []string{}
	for _, p := range spans[0].Parts {
		if p.Attempt > 0 {
			tried = append(tried, fmt.Sprint(p.Attempt, p.Kind, p.Status, p.Cause))
		}
	}
	if want := []string{"1failed0no response: connection was refused", "2running200"}; !slices.Equal(tried, want) {
		t.Errorf("attempts: got %q, want %q", tried, want)
	}
	if !slices.ContainsFunc(spans[0].Parts, func(p engine.Part) bool { return p.Kind == "failed" && p.Attempt == 0 }) {
		t.Errorf("the parts %+v miss the attempt of the endpoint that failed", spans[0].Parts)
	}
	if !slices.ContainsFunc(w.made(), func(at engine.Attempt) bool { return at.Message.ID == spans[0].Message && at.Message.URL == third }) {
		t.Errorf("the span is that of %s, want the message that calls", spans[0].Message)
	}
}

// TestTrace follows a message that fails once, and its callback.
func TestTrace(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = func(at engine.Attempt) engine.Outcome {
		if at.Number == 0 && at.Message.Role == engine.RoleMessage {
			return engine.Outcome{Status: 503}
		}
		return engine.Outcome{Status: 200}
	}
	id := w.publish(engine.Options{Callback: &engine.Callback{URL: "https://app.test/back"}})
	w.publish(engine.Options{})
	w.advance(time.Hour)
	trace, err := w.Trace(id)
	w.must(err)
	states := []string{}
	for _, e := range trace.Events {
		states = append(states, e.State)
	}
	if want := []string{"CREATED", "ACTIVE", "ERROR", "RETRY", "ACTIVE", "DELIVERED"}; !slices.Equal(states, want) {
		t.Errorf("events %v, want %v", states, want)
	}
	if expect.Equal(t, "number of reports", len(trace.Reports), 2) {
		expect.Equal(t, "source of the first report", trace.Reports[0].SourceID, id)
		expect.True(t, "reasons", len(trace.Reasons) != 0)
	}
	if _, err := w.Trace("msg_none"); err == nil {
		t.Error("a message that is not there has a trace")
	}
}

// TestOverviewTellsOfChanges: a change is reported, and reading is not a change.
func TestOverviewTellsOfChanges(t *testing.T) {
	t.Parallel()
	w := setup(t)
	_, more := w.Overview()
	_, _ = w.Overview()
	_, _ = w.Messages(engine.Filter{})
	select {
	case <-more:
		t.Fatal("looking is no change")
	default:
	}
	w.publish(engine.Options{Delay: time.Hour})
	<-more
	o, more := w.Overview()
	expect.Equal(t, "created messages", o.Messages[engine.Created], 1)
	expect.Equal(t, "the next due time", o.NextDue, epoch.Add(time.Hour))
	w.Touch()
	<-more
	w.advance(time.Hour)
	o, _ = w.Overview()
	expect.Equal(t, "created messages", o.Messages[engine.Created], 0)
	expect.Equal(t, "delivered messages", o.Messages[engine.Delivered], 1)
	expect.True(t, "no next due time", o.NextDue.IsZero())
	expect.Equal(t, "attempts", o.Attempts, 1)
}

// TestAdvanceUntil moves to the next timer, and until only schedules are left.
func TestAdvanceUntil(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = always(503)
	_, err := w.PutSchedule("s", "0 0 1 1 *", engine.PublishRequest{URL: sink})
	w.must(err)
	w.publish(engine.Options{Delay: time.Hour, Retries: new(2)})
	w.publish(engine.Options{Delay: 3 * time.Hour, Retries: new(0)})
	p, err := w.AdvanceUntil(t.Context(), false)
	w.must(err)
	if !p.Now.Equal(epoch.Add(time.Hour)) || p.Attempts != 1 {
		t.Errorf("next: %+v", p)
	}
	p, err = w.AdvanceUntil(t.Context(), true)
	w.must(err)
	expect.Equal(t, "time of the clock", p.Now, epoch.Add(3*time.Hour))
	expect.Equal(t, "attempts", p.Attempts, 3)
	expect.Equal(t, "failed attempts", p.Failed, 3)
	expect.Equal(t, "next timer, that of the schedule", p.NextDue, time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC))
	expect.Equal(t, "number of entries in the DLQ", len(w.dlq()), 2)
	if p, err = w.AdvanceUntil(t.Context(), true); err != nil || p.TimersFired != 0 {
		t.Errorf("idle already: %+v, %v", p, err)
	}
}

// TestDeliverNow makes an attempt at once, and only one that waits for a time.
func TestDeliverNow(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = always(503)
	id := w.publish(engine.Options{Delay: time.Hour, Retries: new(1)})
	w.settle()
	w.must(w.DeliverNow(id))
	w.settle()
	if n := len(w.made()); n != 1 || !w.Now().Equal(epoch) {
		t.Fatalf("%d attempts at %s", n, w.Now())
	}
	w.must(w.DeliverNow(id)) // the retry
	w.settle()
	if n := len(w.made()); n != 2 || len(w.dlq()) != 1 {
		t.Fatalf("%d attempts, %d in the DLQ", n, len(w.dlq()))
	}
	w.advance(24 * time.Hour)
	if n := len(w.made()); n != 2 {
		t.Errorf("its old timers made %d attempts more", n-2)
	}
	w.must(w.SetFlowPaused("k", true))
	held := w.publish(engine.Options{Flow: &engine.FlowControl{Key: "k", Parallelism: 1}})
	w.settle()
	for _, id := range []string{id, held, "msg_none"} {
		if err := w.DeliverNow(id); err == nil {
			t.Errorf("%s was hurried", id)
		}
	}
}
