package engine_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
)

// Whatever happens while a snapshot is written record by record, it is the state
// of the instant at which it began, byte for byte.
func TestASnapshotIsTheStateOfOneInstant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, during := commands().Draw(t, "before"), rapid.SliceOfN(rapid.Custom(oneCommand), 1, 60).Draw(t, "during")
		every := rapid.IntRange(1, 9).Draw(t, "every")
		w := setup(t, stored, func(c *engine.Config) { c.Parallel = rapid.SampledFrom([]int{1, 3, 64}).Draw(t, "parallel") })
		w.answer = outcomeOf
		for _, c := range before {
			_ = w.play(c)
		}
		w.settle()
		want := w.document()
		var got bytes.Buffer
		calls := 0
		w.must(engine.WriteSnapshotInParts(w.Account, &got, 1, func() {
			if calls++; calls%every == 0 && len(during) > 0 {
				c := during[0]
				during = during[1:]
				switch c.Kind {
				case 13:
					_ = w.Forget(int64(c.A) * 200)
				case 14:
					w.must(w.Reset())
				default:
					_ = w.play(c)
				}
				w.settle()
			}
		}))
		if !bytes.Equal(want, got.Bytes()) {
			t.Fatalf("at the beginning:\n%s\nwritten:\n%s", want, got.Bytes())
		}
		w.must(engine.WriteSnapshotInParts(w.Account, &got, 1000, func() {}))
	})
}

// oneCommand may also forget, and rarely reset.
func oneCommand(t *rapid.T) command {
	n := rapid.IntRange(0, 30)
	kind := rapid.IntRange(0, 13).Draw(t, "kind")
	if rapid.IntRange(0, 40).Draw(t, "reset") == 0 {
		kind = 14
	}
	return command{kind, n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "c")}
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
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					_ = w.play(command{n % 10, n + i, n % 7, n % 5})
				}
			}
		})
	}
	for range 20 {
		text := w.document()
		s, err := engine.ReadSnapshot(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%v", err)
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
		for _, e := range slices.Backward(events) {
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w.must(w.Settle(ctx))
}
