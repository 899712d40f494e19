package stub

import (
	"context"
	"time"
)

// Wait waits for d in real time, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) { WaitUntil(ctx, nil, d) }

// WaitUntil is like Wait, and also returns when done is closed.
func WaitUntil(ctx context.Context, done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	case <-ctx.Done():
	}
}
