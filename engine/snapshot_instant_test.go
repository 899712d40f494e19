package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
)

// Whatever happens while a snapshot is written record by record, it is the state
// of the instant at which it began, byte for byte.
func TestASnapshotIsTheStateOfOneInstant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, inFlight := lives().Draw(t, "before"), commands().Draw(t, "in flight")
		during := lives().Draw(t, "during")
		every := rapid.IntRange(1, 9).Draw(t, "every")
		w := setup(t, stored, func(c *engine.Config) { c.Parallel = rapid.SampledFrom([]int{1, 3, 64}).Draw(t, "parallel") })
		w.answer = outcomeOf
		for _, c := range before {
			w.playAll(c)
			w.settle()
		}
		end := make(chan struct{})
		w.answer = func(at engine.Attempt) engine.Outcome {
			<-end
			return outcomeOf(at)
		}
		for _, c := range inFlight {
			if c.Kind < 10 { // an Advance waits for attempts
				_ = w.play(c)
			}
		}
		want := w.document()
		var got bytes.Buffer
		calls := 0
		w.must(engine.WriteSnapshotInParts(w.Account, &got, 1, func() {
			switch calls++; {
			case calls == every:
				close(end)
			case calls > every && calls%every == 0 && len(during) > 0:
				w.playAll(during[0])
				during = during[1:]
			default:
				return
			}
			w.settle()
		}))
		if calls < every {
			close(end)
		}
		if !bytes.Equal(want, got.Bytes()) {
			t.Fatalf("at the beginning:\n%s\nwritten:\n%s", want, got.Bytes())
		}
		w.settle()
		first := w.document()
		if again := w.document(); !bytes.Equal(first, again) {
			t.Fatalf("a snapshot has changed what the next one has:\n%s\n%s", first, again)
		}
	})
}

// lives are commands that may also forget, invoke, repeat callbacks and, rarely, reset.
func lives() *rapid.Generator[[]command] {
	n := rapid.IntRange(0, 30)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) command {
		c := command{rapid.IntRange(0, 19).Draw(t, "kind"), n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "c")}
		if c.Kind == 19 && c.A > 3 {
			c.Kind = 5
		}
		return c
	}), 0, 40)
}

// playAll runs a command of lives. Errors are part of the life.
func (w *world) playAll(c command) {
	switch c.Kind {
	case 13:
		_ = w.Forget(int64(c.A*c.A) * 200)
	case 14, 15:
		init, parent := true, fmt.Sprint("run", c.A%4)
		_, _ = w.Publish(engine.PublishRequest{URL: "https://app.test/wf", Options: engine.Options{
			Workflow: &engine.Workflow{Init: &init, RunID: fmt.Sprint("child", c.B%3), URL: "https://app.test/wf", Invoke: true}},
			Body: fmt.Appendf(nil, `{"body":"{}","headers":{"X-A":["b"]},"workflowRunId":%q,"workflowUrl":"https://app.test/wf","step":{"stepId":1,"stepName":"ask","stepType":"Invoke","concurrent":1}}`, parent)})
	case 16:
		_ = w.FinishRun(fmt.Sprint([]string{"run", "child"}[c.A%2], c.B%4), []byte("done"), time.Time{})
	case 17:
		for _, e := range w.dlq() {
			if c.A%2 == 0 {
				_, _ = w.RepeatCallback(e.ID)
			} else {
				_ = w.CancelCallback(e.ID)
			}
		}
	case 18:
		init := true
		_, _ = w.Publish(engine.PublishRequest{URL: "https://app.test/wf", Body: []byte("start"), Options: engine.Options{Retries: new(0),
			FailureCallback: &engine.Callback{URL: "https://fcb.test/", Options: engine.Options{Retries: new(0)}},
			Workflow:        &engine.Workflow{Init: &init, RunID: fmt.Sprint("run", c.A%4), URL: "https://app.test/wf"}}})
	case 19:
		w.must(w.Reset(nil, false))
	default:
		_ = w.play(c)
	}
}

// TestSnapshotsOfABusyAccount takes them while others publish and attempts end,
// at once and in real threads.
func TestSnapshotsOfABusyAccount(t *testing.T) {
	t.Parallel()
	w := setup(t, stored, func(c *engine.Config) { c.Parallel = 64 })
	w.answer = outcomeOf
	stop := make(chan struct{})
	var loaders sync.WaitGroup
	for i := range 3 {
		loaders.Go(func() {
			for n := range 3000 { // more would make each snapshot slower than the one before
				select {
				case <-stop:
					return
				default:
					_ = w.play(command{n % 10, n + i, n % 7, n % 5})
				}
			}
		})
	}
	for range effort.Amount(t, "SNAPSHOTS", 5, 20) {
		text := w.document()
		s, err := engine.ReadSnapshot(bytes.NewReader(text))
		if err != nil {
			t.Errorf("reading the document: got %v, want no error", err)
			break
		}
		other := setup(t, stored, func(c *engine.Config) { c.Parallel = 64 })
		gate := make(chan struct{})
		other.answer = func(engine.Attempt) engine.Outcome { <-gate; return engine.Outcome{Status: 200} }
		other.must(other.Restore(s))
		if again := other.document(); !bytes.Equal(text, again) && !bytes.Contains(text, []byte(`"canceling":true`)) {
			t.Error("the restored state differs from the document")
		}
		overview, _ := other.Overview()
		live := 0
		for _, state := range []engine.MessageState{engine.Created, engine.Active, engine.Errored, engine.Retry, engine.CancelRequested} {
			live += overview.Messages[state]
		}
		events := other.events(engine.Filter{})
		states := map[string]string{}
		for _, e := range events { // the oldest first
			if e.Message != nil {
				states[e.Message.ID] = e.State
			}
		}
		for _, e := range events {
			if e.Message != nil && states[e.Message.ID] != string(e.Message.State) {
				t.Errorf("message %s is %s, the last of its events says %s", e.Message.ID, e.Message.State, states[e.Message.ID])
				break
			}
		}
		close(gate)
	}
	close(stop)
	loaders.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(time.Minute))
	defer cancel()
	w.must(w.Settle(ctx))
}
