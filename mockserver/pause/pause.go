// Package pause waits in real time, for a response that a fault delays or a
// delivery that waits to be overtaken.
//
//	pause.For(r.Context(), 3*time.Second)
//
// All other code waits for events, or on the clock of an account.
package pause

import (
	"context"
	"time"
)

// For waits for d in real time, or until ctx ends.
func For(ctx context.Context, d time.Duration) { Until(ctx, nil, d) }

// Until is like For, and also returns when done is closed.
func Until(ctx context.Context, done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	case <-ctx.Done():
	}
}
