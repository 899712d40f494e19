package mockserver

import (
	"context"
	"time"
)

// pauseFor lets d of real time go by, or what is left until ctx ends.
func pauseFor(ctx context.Context, d time.Duration) { pauseUntil(ctx, nil, d) }

// pauseUntil ends early when done is closed.
func pauseUntil(ctx context.Context, done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	case <-ctx.Done():
	}
}
