package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestPace checks the distance of requests, and that idle time is not saved up.
func TestPace(t *testing.T) {
	t.Parallel()
	var p pace
	start := time.UnixMilli(0)
	for i, c := range []struct{ at, want time.Duration }{
		{0, 0}, {0, 250 * time.Millisecond}, {0, 500 * time.Millisecond}, {700 * time.Millisecond, 50 * time.Millisecond},
		{10 * time.Second, 0}, {10 * time.Second, 250 * time.Millisecond},
	} {
		if got := p.reserve(start.Add(c.at), 4); got != c.want {
			t.Errorf("request %d at %s waits %s, want %s", i, c.at, got, c.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&Exhausted{"limits.wall"})
	if err := new(pace).wait(ctx, 0); err != nil {
		t.Errorf("no limit waits: %v", err)
	}
	p.next = Now().Add(time.Hour)
	if err := p.wait(ctx, 4); !strings.Contains(err.Error(), "limits.wall") {
		t.Errorf("the end of the run does not end the wait: %v", err)
	}
}

// TestWithin checks that the context ends in time, extended by the time that the target
// delays requests.
func TestWithin(t *testing.T) {
	t.Parallel()
	cause := errors.New("too long")
	for _, held := range []time.Duration{0, 20 * time.Millisecond} {
		asked := false
		ctx, cancel := within(t.Context(), time.Millisecond, func() time.Duration {
			if !asked { // no delay at the start
				asked = true
				return 0
			}
			return held
		}, cause)
		started := Now()
		<-ctx.Done()
		if got := context.Cause(ctx); !errors.Is(got, cause) {
			t.Errorf("cause %v, want %v", got, cause)
		}
		if took := Now().Sub(started).Milliseconds(); took < held.Milliseconds() {
			t.Errorf("it ended after %d ms, want at least %d", took, held.Milliseconds())
		}
		cancel()
	}
}

func TestWaitsThatOverlapCountOnce(t *testing.T) {
	t.Parallel()
	var w Stopwatch
	first, second := w.start(), w.start()
	first()
	if got := w.Measured(); got != 0 {
		t.Errorf("while one still waits: got %s, want 0", got)
	}
	second()
	if got := w.Measured(); got <= 0 {
		t.Errorf("after the last: got %s, want more than 0", got)
	}
}
