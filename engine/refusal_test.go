package engine_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// unreadable submits to a run what is not a step.
var unreadable = engine.PublishRequest{URL: "https://app.test/wf", Body: []byte("no step"),
	Options: engine.Options{Workflow: &engine.Workflow{Init: new(false), RunID: "run0", URL: "https://app.test/wf"}}}

// refusals are commands that no account accepts, whatever its life was.
var refusals = map[string]func(*world) error{
	"a batch whose last item names no group": func(w *world) error {
		_, err := w.PublishBatch([]engine.PublishRequest{{URL: sink}, {Group: "none"}})
		return err
	},
	"a batch whose last item is not a step": func(w *world) error {
		_, err := w.PublishBatch([]engine.PublishRequest{{URL: sink}, unreadable})
		return err
	},
	"a fixture whose last message is not a step": func(w *world) error {
		return w.AddFixture(engine.Fixture{Groups: []engine.Group{{Name: "new"}}, Messages: []engine.PublishRequest{{URL: sink}, unreadable}})
	},
	"a fixture with a wait that is not a step": func(w *world) error {
		return w.AddFixture(engine.Fixture{Messages: []engine.PublishRequest{{URL: sink}}, Runs: []engine.PastRun{{State: engine.RunStarted, CreatedAt: epoch, EndedAt: epoch,
			Request: engine.PublishRequest{URL: sink}, Waits: []engine.WaitRequest{{EventID: "e", Step: []byte("no step")}}}}})
	},
	"a schedule that is not a step": func(w *world) error {
		_, err := w.PutSchedule("s0", "* * * * *", unreadable)
		return err
	},
	"a schedule for a day that never comes": func(w *world) error {
		_, err := w.PutSchedule("s0", "0 0 30 2 *", engine.PublishRequest{URL: sink})
		return err
	},
	"a flow-control key without limits": func(w *world) error {
		_, err := w.Publish(engine.PublishRequest{URL: sink, Options: engine.Options{Flow: &engine.FlowControl{Key: "new"}}})
		return err
	},
	"vectors of two dimensions": func(w *world) error {
		return w.upsert("unused", "new", []vector.Vector{{ID: "a", Values: []float32{1}}, {ID: "b", Values: []float32{1, 2}}})
	},
	"a wait that is not a step": func(w *world) error {
		return w.Wait(engine.WaitRequest{RunID: "run0", EventID: "e", Step: []byte("no step")})
	},
	"a queue without places": func(w *world) error {
		_, err := w.UpsertQueue("new", new(0), nil)
		return err
	},
	"an unknown key":         func(w *world) error { return w.SetFlowPaused("new", false) },
	"a restart of nothing":   func(w *world) error { _, err := w.Restart("none", engine.Options{}, false); return err },
	"an advance to the past": func(w *world) error { _, err := w.Advance(context.Background(), epoch.Add(-time.Hour)); return err },
}

func TestARefusedCommandChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := setup(t, stored, unused)
		w.answer = outcomeOf
		for _, c := range commands().Draw(t, "life") {
			w.settle()
			before := w.document()
			err := w.play(c)
			w.settle()
			if after := w.document(); err != nil && !bytes.Equal(before, after) {
				t.Fatalf("%+v answers %v and changes the state:\n%s\n%s", c, err, before, after)
			}
		}
		before := w.document()
		for _, name := range slices.Sorted(maps.Keys(refusals)) {
			err := refusals[name](w)
			if err == nil {
				t.Fatalf("%s: accepted", name)
			}
			w.settle()
			if after := w.document(); !bytes.Equal(before, after) {
				t.Fatalf("%s: answers %v and changes the state:\n%s\n%s", name, err, before, after)
			}
		}
	})
}

func TestVectorsBeyondTheBoundLeaveTheDimensionOpen(t *testing.T) {
	t.Parallel()
	w := setup(t, stored, func(c *engine.Config) { c.Memory = &engine.Ledger{MaxWork: 1} })
	if err := w.upsert("v", "", []vector.Vector{{ID: "a", Values: []float32{1, 2}}}); !errors.Is(err, engine.ErrFull) {
		t.Fatalf("upsert: %v, want ErrFull", err)
	}
	if info, err := engine.ReadVectors(w.Account, "v", vector.InfoRead{}); err != nil || info.Dimension != 0 {
		t.Errorf("dimension %d (%v), want 0", info.Dimension, err)
	}
}

// Clients take the refusal of a step as the end of the run, so it must be one.
func TestAStepThatCannotBeReadFailsItsRun(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T) *world {
		w := setup(t)
		w.send(engine.PublishRequest{URL: "https://app.test/wf", Options: engine.Options{Workflow: &engine.Workflow{Init: new(true), RunID: "run0", URL: "https://app.test/wf"}}})
		w.settle()
		return w
	}
	state := func(w *world) engine.RunState {
		run, err := w.Run("run0")
		w.must(err)
		return run.State
	}
	t.Run("when it is submitted alone", func(t *testing.T) {
		t.Parallel()
		w := begun(t)
		if _, err := w.Publish(unreadable); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("publish: %v, want ErrInvalid", err)
		}
		expect.Equal(t, "run", state(w), engine.RunFailed)
		expect.Equal(t, "number of DLQ entries", len(w.dlq()), 1)
		if states := slices.Collect(func(yield func(string) bool) {
			for _, e := range w.events(engine.Filter{}) {
				yield(e.State)
			}
		}); !slices.Contains(states, "ERROR") || !slices.Contains(states, "RUN_FAILED") {
			t.Errorf("log %v, want ERROR and RUN_FAILED", states)
		}
	})
	t.Run("but not in a batch, which changes nothing", func(t *testing.T) {
		t.Parallel()
		w := begun(t)
		if _, err := w.PublishBatch([]engine.PublishRequest{unreadable}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("batch: %v, want ErrInvalid", err)
		}
		expect.Equal(t, "run", state(w), engine.RunStarted)
	})
	t.Run("but not in the check of a fixture", func(t *testing.T) {
		t.Parallel()
		w := begun(t)
		if err := w.CheckFixture(engine.Fixture{Messages: []engine.PublishRequest{unreadable}}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("check: %v, want ErrInvalid", err)
		}
		expect.Equal(t, "run", state(w), engine.RunStarted)
	})
}
