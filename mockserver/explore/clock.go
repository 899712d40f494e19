package explore

import (
	"context"
	"time"
)

// now is real time: a scenario and its application run in it, while the clock of the account jumps.
func now() time.Time { return time.Now() }

// Pause waits in real time, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// newTicker ticks in real time; the caller stops it.
func newTicker(d time.Duration) *time.Ticker { return time.NewTicker(d) }
