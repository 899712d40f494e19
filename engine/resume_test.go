package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// childURL is the endpoint of the workflow that steps invoke: it sleeps, and ends.
const childURL = "http://app.test/child"

// typed is the type of the step.
func (n node) typed() string {
	switch {
	case n.sleep > 0:
		return "SleepFor"
	case n.kind != "":
		return n.kind
	}
	return "Run"
}

// resultOf is the result of a workflow: the results of all its steps, in the order of their ids.
func resultOf(steps []rawStep) []byte {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s rawStep) bool { return s.Target > 0 })
	slices.SortFunc(steps, func(a, b rawStep) int { return a.ID - b.ID })
	var out strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&out, "%d %s %s=%s\n", s.ID, s.Type, s.Name, s.Out)
	}
	return []byte(out.String())
}

// ask requests what the step waits for.
func (e *endpoint) ask(runID string, s rawStep) int {
	raw, _ := json.Marshal(s)
	w := engine.Workflow{Init: new(false), RunID: runID}
	var err error
	switch s.Type {
	case "Wait":
		err = e.account.Wait(engine.WaitRequest{RunID: runID, EventID: s.Name, URL: "http://app.test/wf", Timeout: "1d", Step: raw})
	case "Call":
		w.CallType = "toCallback"
		forward := engine.Header{"Svc-Workflow-Stepid": {fmt.Sprint(s.ID)}, "Svc-Workflow-Stepname": {s.Name}, "Svc-Workflow-Steptype": {"Call"}, "Svc-Workflow-Concurrent": {fmt.Sprint(s.Of)}}
		_, err = e.account.Publish(engine.PublishRequest{URL: "https://third.test/", Options: engine.Options{Workflow: &w,
			Callback: &engine.Callback{URL: "http://app.test/wf", Options: engine.Options{Forward: forward, Workflow: &engine.Workflow{Init: new(false), RunID: runID, CallType: "fromCallback"}}}}})
	default:
		body, _ := json.Marshal(map[string]any{"body": s.Name, "workflowRunId": runID, "step": json.RawMessage(raw)})
		_, err = e.account.Publish(engine.PublishRequest{URL: childURL, Body: body, Options: engine.Options{Workflow: &engine.Workflow{Init: new(true), Invoke: true, URL: childURL}}})
	}
	if err != nil {
		return 500
	}
	return 200
}

// child proceeds an invoked run, whose payload is the name of the step that waits for it.
func (e *endpoint) child(runID string, entries int) int {
	run, err := e.account.Run(runID)
	if err != nil {
		return 500
	}
	if entries > 1 {
		if err := e.account.FinishRun(runID, []byte("of "+string(run.Payload)), time.Time{}); err != nil {
			return 500
		}
		return 200
	}
	ends := time.Second
	for id := 1; e.step(id).name != ""; id++ {
		if nd := e.step(id); nd.name == string(run.Payload) {
			ends = nd.ends
		}
	}
	return e.submit(runID, ends, rawStep{ID: 1, Name: "nap", Type: "SleepFor", Of: 1, Sleep: ends.Seconds()})
}

// randomTree draws a workflow; each branch of a parallel group ends at a time of its own.
func randomTree(t *rapid.T) (nodes []node, names []string) {
	step := func(name string, ends int) node {
		n := node{name: name, kind: rapid.SampledFrom([]string{"Run", "Sleep", "Call", "Wait", "Invoke"}).Draw(t, name), ends: time.Duration(ends) * time.Minute}
		switch n.kind {
		case "Sleep":
			n.sleep = n.ends
		case "Run":
			n.sleep = 0
		}
		names = append(names, name)
		return n
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		name := fmt.Sprint("s", i)
		if rapid.Bool().Draw(t, name+" is parallel") {
			width := rapid.IntRange(2, 5).Draw(t, "width")
			wide := node{name: name}
			for k, at := range rapid.Permutation([]int{1, 2, 3, 4, 5}).Draw(t, "ends")[:width] {
				wide.parallel = append(wide.parallel, step(fmt.Sprint(name, "_", k), at))
			}
			nodes = append(nodes, wide)
		} else {
			nodes = append(nodes, step(name, 1))
		}
	}
	return nodes, names
}

// opened is the endpoint with an account that continues the journal, if there are records.
func (e *endpoint) opened(j *tape) error {
	ready := make(chan struct{})
	deliver := func(ctx context.Context, at engine.Attempt) engine.Outcome {
		<-ready // the endpoint calls the account
		return e.Deliver(ctx, at)
	}
	a, err := engine.Open(engine.Config{ID: "t", Clock: clock.NewManual(time.UnixMilli(1_800_000_000_000)), Deliver: deliver, Wire: wire.Format{}, Strict: true, Journal: j, Seed: 1}, nil, j.all(len(j.records)))
	e.account = a
	close(ready)
	return err
}

// TestAResumedRunEndsAsOneThatWasNotInterrupted tries random workflows whose branches end in any
// order. One step fails at any place, and another one after the resumption; the answer to a
// submission may be lost; the server restarts in between.
func TestAResumedRunEndsAsOneThatWasNotInterrupted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes, names := randomTree(t)
		smooth := &endpoint{nodes: nodes, executed: map[string][]string{}, failed: map[string]int{}, losses: map[string]int{}}
		want, _ := smooth.outcome(t, nil)
		e := &endpoint{nodes: nodes, executed: map[string][]string{}, failed: map[string]int{}, fatal: map[string]bool{}, losses: map[string]int{}}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, min(2, len(names)), rapid.ID[string]).Draw(t, "fail") {
			e.fatal[name] = true
		}
		e.losses[rapid.SampledFrom(names).Draw(t, "lost")] = rapid.IntRange(0, 2).Draw(t, "lost answers") // after two, the run has failed
		got, runs := e.outcome(t, rapid.SliceOfN(rapid.IntRange(1, 6), 0, 3).Draw(t, "restarts after minutes"))
		if got != want {
			t.Fatalf("got\n%s, want\n%s", got, want)
		}
		if len(e.repeats) > 0 {
			t.Fatalf("repeated in a list of steps: %v", e.repeats)
		}
		finished := map[string]int{}
		for _, id := range runs {
			events := e.log(id)
			view, err := e.account.Run(id)
			expect.NoError(t, err)
			for _, it := range view.Items[view.Kept:] {
				if it.Step.ID > 0 {
					finished[it.Step.Name]++
				}
			}
			legal(t, events)
			traced(t, e, id)
		}
		for _, name := range names {
			if finished[name] != 1 {
				t.Fatalf("step %s has ended %d times", name, finished[name])
			}
		}
	})
}

// outcome triggers a run, drives it, and resumes it until it succeeds. It returns the result of
// the last run, and all runs. The server restarts after some minutes.
func (e *endpoint) outcome(t *rapid.T, restarts []int) (result string, runs []string) {
	j := &tape{}
	expect.NoError(t, e.opened(j))
	defer func() { _ = e.account.Close() }()
	runs = []string{e.trigger("", engine.Options{Retries: new(1)})}
	for minute := range 200 {
		for _, w := range e.account.Waiters("") {
			if e.account.Now().Sub(w.Deadline.Add(-24*time.Hour)) >= e.named(w.EventID).ends {
				expect.NoError(t, expect.ErrorOf(e.account.Notify("", w.EventID, []byte("data of "+w.EventID))))
			}
		}
		if slices.Contains(restarts, minute) {
			_ = e.account.Close()
			expect.NoError(t, e.opened(j))
		}
		e.advance(time.Minute)
		run, err := e.account.Run(runs[len(runs)-1])
		switch {
		case err != nil:
			t.Fatal(err)
		case run.State == engine.RunSuccess:
			return string(run.Result), runs
		case run.State == engine.RunFailed:
			ref, err := e.account.Restart(run.DLQID, engine.Options{}, true)
			expect.NoError(t, err)
			runs = append(runs, ref.ID)
		}
	}
	why, _ := e.account.Explain(runs[len(runs)-1])
	t.Fatalf("run %d has not ended: %v", len(runs), why.Reasons)
	return "", nil
}

// named is the node with that name.
func (e *endpoint) named(name string) node {
	for id := 1; ; id++ {
		if nd := e.step(id); nd.name == name || nd.name == "" {
			return nd
		}
	}
}
