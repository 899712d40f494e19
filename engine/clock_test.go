package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
)

// wait returns when the log has an event of that state for the message.
func (w *world) wait(id, state string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		events, more := w.Follow(0, 0)
		for _, e := range events {
			if e.Message != nil && e.Message.ID == id && e.State == state {
				return
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			w.t.Fatalf("message %s: %v, want %s", id, w.states(id), state)
		}
	}
}

func TestTimeNeverRunsBackwards(t *testing.T) {
	t.Parallel()
	// ahead is an account whose manual clock is two days ahead of the wall.
	ahead := func(t *testing.T) (*world, time.Time) {
		w := setup(t, func(c *engine.Config) { c.Clock = clock.NewManual(clock.NewReal().Now().Add(48 * time.Hour)) })
		return w, w.Now()
	}
	t.Run("when a clock that is ahead becomes real", func(t *testing.T) {
		t.Parallel()
		w, before := ahead(t)
		w.SetClock(clock.NewReal(), false)
		if now := w.Now(); now.Before(before) {
			t.Errorf("time is %s, and was %s", now, before)
		}
	})
	t.Run("and goes on from there at the pace of the wall", func(t *testing.T) {
		t.Parallel()
		w, _ := ahead(t)
		w.SetClock(clock.NewReal(), false)
		w.wait(w.publish(engine.Options{Delay: 20 * time.Millisecond}), "DELIVERED")
	})
	t.Run("a rate-limited key goes on", func(t *testing.T) {
		t.Parallel()
		w, _ := ahead(t)
		flow := &engine.FlowControl{Key: "k", Rate: 1, Period: 20 * time.Millisecond}
		w.publish(engine.Options{Flow: flow})
		w.settle()
		w.SetClock(clock.NewReal(), false)
		w.wait(w.publish(engine.Options{Flow: flow}), "DELIVERED")
	})
	t.Run("the log is in the order of time", func(t *testing.T) {
		t.Parallel()
		w, _ := ahead(t)
		w.publish(engine.Options{})
		w.settle()
		w.SetClock(clock.NewReal(), false)
		w.wait(w.publish(engine.Options{}), "DELIVERED")
		events, _ := w.Follow(0, 0)
		for i, e := range events[1:] {
			if e.Time.Before(events[i].Time) {
				t.Errorf("event %d is of %s, the one before of %s", i+1, e.Time, events[i].Time)
			}
		}
	})
	t.Run("when a snapshot of a time ahead is restored in real time", func(t *testing.T) {
		t.Parallel()
		from, before := ahead(t)
		w := setup(t, func(c *engine.Config) { c.Clock = clock.NewReal() })
		w.load(from.document())
		if now := w.Now(); now.Before(before) {
			t.Errorf("time is %s, that of the snapshot %s", now, before)
		}
		w.wait(w.publish(engine.Options{Delay: 20 * time.Millisecond}), "DELIVERED")
	})
	t.Run("when the wall is set back", func(t *testing.T) {
		t.Parallel()
		wall := &settable{now: epoch}
		w := setup(t, func(c *engine.Config) { c.Clock = wall })
		w.must(w.SetFlowPaused("k", true))
		wall.set(epoch.Add(-time.Hour))
		if now := w.Now(); now.Before(epoch) {
			t.Errorf("time is %s, and was %s", now, epoch)
		}
	})
	t.Run("but a reset brings it back", func(t *testing.T) {
		t.Parallel()
		w, before := ahead(t)
		w.Reset(clock.NewReal(), false)
		if now := w.Now(); !now.Before(before) {
			t.Errorf("time is %s, and was %s", now, before)
		}
	})
}

// settable is a wall clock that somebody sets.
type settable struct {
	mu  sync.Mutex
	now time.Time
}

func (s *settable) set(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = t
}

func (s *settable) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *settable) Alarm(time.Time, func()) {}
