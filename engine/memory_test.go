package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// What an account counts comes back to nothing, whatever it did meanwhile: a sum
// that drifts would refuse work for ever, or bound nothing.
func TestAnyLifeEndsWithNothingCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		memory := &engine.Ledger{}
		w := setup(t, stored, func(c *engine.Config) { c.Memory = memory })
		w.answer = outcomeOf
		for _, c := range commands().Draw(t, "life") {
			_ = w.play(c) // errors are part of the life
			switch c.C % 7 {
			case 0:
				w.settle()
				w.Forget(int64(c.A * 300))
			case 1:
				w.settle()
				w.load(w.document())
			}
		}
		w.settle()
		w.clear()
		bytes, messages := memory.Work()
		w.load(w.document()) // counts again
		if again, _ := memory.Work(); bytes != again || messages != 0 {
			t.Fatalf("work: %d bytes and %d messages are counted, and there are %d and none", bytes, messages, again)
		}
		if len(w.FlowKeys()) == 0 && bytes != 0 {
			t.Fatalf("work: %d bytes are counted, and there are none", bytes)
		}
		if got := memory.Observed(); got != w.Observed() || got < 0 {
			t.Fatalf("observed: the process says %d, its only account %d", got, w.Observed())
		}
		w.Forget(math.MaxInt64)
		if got := memory.Observed(); got != 0 {
			t.Fatalf("observed: %d bytes are counted, and there are none", got)
		}
	})
}

// clear ends and deletes all work.
func (w *world) clear() {
	w.t.Helper()
	for _, s := range w.Schedules() {
		w.must(w.DeleteSchedule(s.ID))
	}
	for _, g := range w.Groups() {
		w.DeleteGroup(g.Name)
	}
	for _, q := range w.Queues() {
		w.must(w.DeleteQueue(q.Name))
	}
	_, err := engine.ChangeVectors(w.Account, "v", vector.ResetCommand{All: true})
	w.must(err)
	_, err = w.CancelRuns(engine.Filter{})
	w.must(err)
	w.settle()
	_, err = w.CancelMessages(engine.Filter{})
	w.must(err)
	w.settle()
	w.advance(100 * 24 * time.Hour)          // failure callbacks of runs
	w.send(engine.PublishRequest{URL: sink}) // which forgets old deduplication ids
	w.advance(100 * 24 * time.Hour)
	for {
		n, _, err := w.DeleteDLQs(engine.Filter{})
		w.must(err)
		if n == 0 {
			return
		}
	}
}

// Forgetting changes what readers see of the past, and nothing that is to come.
func TestForgettingLosesNoWork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		started := map[int]bool{}
		life := slices.DeleteFunc(commands().Draw(t, "life"), func(c command) bool {
			again := c.Kind == 5 && started[c.A%4] // the id of a run is forgotten with the run: it would start again
			started[c.A%4] = started[c.A%4] || c.Kind == 5
			return again
		})
		last := map[bool]string{}
		for _, forgetful := range []bool{false, true} {
			w := setup(t, stored)
			w.answer = outcomeOf
			for _, c := range life {
				_ = w.play(c)
				w.settle()
				if forgetful {
					w.Forget(math.MaxInt64)
				}
			}
			w.advance(24 * time.Hour)
			for _, at := range w.attempts {
				last[forgetful] += at.Message.URL + " " + string(at.Body) + string(wire.StepList(at.Steps)) + "\n"
			}
		}
		if last[false] != last[true] {
			t.Fatalf("attempts:\n%s\nwith forgetting:\n%s", last[false], last[true])
		}
	})
}

func TestForgetDropsTheOldestBodiesFirst(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = func(engine.Attempt) engine.Outcome {
		return engine.Outcome{Status: 200, Body: bytes.Repeat([]byte("a"), 5000)}
	}
	for range 4 {
		w.send(engine.PublishRequest{URL: sink, Body: bytes.Repeat([]byte("b"), 10_000)})
		w.settle()
	}
	if got := w.Forget(20_000); got < 20_000 || got > 35_000 {
		t.Errorf("%d bytes were forgotten, want 20000 and at most one message more", got)
	}
	events := w.events(engine.Filter{States: []string{string(engine.Delivered)}})
	expect.Equal(expect.Now(t), "number of messages", len(events), 4)
	t.Run("the oldest says so", func(t *testing.T) {
		oldest := events[0]
		expect.True(t, "at least 10,000 bytes dropped of the message", oldest.Message.Dropped >= 10_000)
		expect.True(t, "at least 5,000 bytes dropped of the outcome", oldest.Outcome.Dropped >= 5000)
		expect.True(t, "a message without a body", oldest.Message.Body == nil)
		expect.True(t, "an outcome without a body", oldest.Outcome.Body == nil)
	})
	t.Run("the newest is whole", func(t *testing.T) {
		newest := events[3]
		expect.Equal(t, "bytes dropped of the message", newest.Message.Dropped, 0)
		expect.Equal(t, "bytes dropped of the outcome", newest.Outcome.Dropped, 0)
		expect.Equal(t, "bytes of the body", len(newest.Message.Body), 10_000)
	})
}

func TestABacklogIsBounded(t *testing.T) {
	t.Parallel()
	one := engine.PublishRequest{URL: sink, Options: engine.Options{Delay: time.Hour}, Body: make([]byte, 1000)}
	for name, memory := range map[string]*engine.Ledger{"in messages": {MaxMessages: 5}, "in bytes": {MaxWork: 9000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, func(c *engine.Config) { c.Memory = memory })
			for range 5 {
				w.send(one)
			}
			_, err := w.Publish(one)
			if !errors.Is(err, engine.ErrFull) || !strings.Contains(err.Error(), "--max-backlog") {
				t.Errorf("publish: %v, want ErrFull with the flag's name", err)
			}
			if _, err := w.PublishBatch([]engine.PublishRequest{one, one}); !errors.Is(err, engine.ErrFull) {
				t.Errorf("batch: %v, want ErrFull", err)
			}
			expect.Equal(t, "number of messages", len(w.events(engine.Filter{States: []string{string(engine.Created)}})), 5)
			w.advance(time.Hour)
			w.send(one)
		})
	}
}

// What accounts keep beside messages counts as well.
func TestSettingsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for name, keep := range map[string]func(w *world, i int) error{
		"URL groups": func(w *world, i int) error {
			_, err := w.AddEndpoints(fmt.Sprint("g", i), []engine.Endpoint{{URL: sink + long}})
			return err
		},
		"endpoints of one URL group": func(w *world, i int) error {
			_, err := w.AddEndpoints("g", []engine.Endpoint{{URL: fmt.Sprint(sink, long, i)}})
			return err
		},
		"headers of URL groups": func(w *world, i int) error {
			_, err := w.UpdateGroup(fmt.Sprint("g", i), engine.Header{"X-Long": {long}}, nil, engine.Options{})
			return err
		},
		"queues": func(w *world, i int) error {
			_, err := w.UpsertQueue(fmt.Sprint("q", i, long), nil, nil)
			return err
		},
		"deduplication ids": func(w *world, i int) error {
			_, err := w.Publish(engine.PublishRequest{URL: sink, Options: engine.Options{DedupID: fmt.Sprint(i, long)}})
			w.settle()
			return err
		},
		"flow-control keys": func(w *world, i int) error {
			_, err := w.Publish(engine.PublishRequest{URL: sink, Options: engine.Options{Flow: &engine.FlowControl{Key: fmt.Sprint(i, long[:200]), Parallelism: 1}}})
			w.settle()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, func(c *engine.Config) { c.Memory = &engine.Ledger{MaxWork: 50_000} })
			var err error
			for i := 0; i < 200 && err == nil; i++ {
				err = keep(w, i)
			}
			if !errors.Is(err, engine.ErrFull) {
				t.Errorf("got %v, want ErrFull", err)
			}
			if name != "deduplication ids" {
				return
			}
			w.advance(11 * time.Minute)
			if err := keep(w, 1000); err != nil {
				t.Errorf("after their window: %v", err)
			}
		})
	}
}
