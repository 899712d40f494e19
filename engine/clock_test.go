package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// wait returns when the log has an event of that state for the message.
func (w *world) wait(id, state string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(10*time.Second))
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
	t.Run("and continues from there at the pace of the wall", func(t *testing.T) {
		t.Parallel()
		w, _ := ahead(t)
		w.SetClock(clock.NewReal(), false)
		w.wait(w.publish(engine.Options{Delay: 20 * time.Millisecond}), "DELIVERED")
	})
	t.Run("a rate-limited key continues", func(t *testing.T) {
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

// TestOverdueTimers fire at the time that it is, whatever clock comes next.
func TestOverdueTimers(t *testing.T) {
	t.Parallel()
	// overdue is an account with a message that was due ten seconds ago: the wall's alarm
	// has not come yet.
	overdue := func(t *testing.T) (w *world, id string) {
		wall := &settable{now: epoch}
		w = setup(t, func(c *engine.Config) { c.Clock = wall })
		id = w.publish(engine.Options{Delay: time.Minute})
		wall.set(epoch.Add(70 * time.Second))
		return w, id
	}
	fires := func(t *testing.T, w *world, id string) {
		t.Helper()
		w.wait(id, "DELIVERED")
		expect.Equal(t, "the attempt is made", w.made()[0].At.Sub(epoch), 70*time.Second)
	}
	for name, auto := range map[string]bool{"a manual clock takes over": false, "an auto clock takes over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, id := overdue(t)
			w.must(w.SetClock(clock.NewManual(w.Now()), auto))
			fires(t, w, id)
		})
	}
	for name, proceed := range map[string]func(*world) error{
		"a snapshot in an account whose clock is advanced":            func(w *world) error { return changed(w.Advance(context.Background(), w.Now())) },
		"a snapshot in an account whose clock goes to the next timer": func(w *world) error { return changed(w.AdvanceUntil(context.Background(), false)) },
		"a snapshot in an account that becomes idle":                  func(w *world) error { return changed(w.AdvanceUntil(context.Background(), true)) },
		"a snapshot in an account whose clock is auto":                func(w *world) error { return w.SetClock(clock.NewManual(w.Now()), true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, id := overdue(t)
			var journal tape
			w := setup(t, func(c *engine.Config) { c.Journal = &journal })
			w.load(from.document())
			w.must(proceed(w))
			fires(t, w, id)
			for i, r := range journal.copied()[2:] {
				if at := r.At.Sub(epoch); at != 70*time.Second {
					t.Errorf("record %d, %s, is of %s, want 70 s", i+2, r.Kind, at)
				}
			}
		})
	}
	t.Run("a snapshot in an account whose clock was auto before", func(t *testing.T) {
		t.Parallel()
		from, id := overdue(t)
		w := setup(t, func(c *engine.Config) { c.Auto = true })
		w.load(from.document())
		fires(t, w, id)
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
