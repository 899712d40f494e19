// Package pause lets real time go by, for what must take as long as it says: an
// answer that is late on purpose, a delivery that waits to be overtaken.
//
//	pause.For(r.Context(), 3*time.Second)
//
// Everything else waits for events, or on the clock of an account.
package pause

import (
	"context"
	"time"
)

// For lets d of real time go by, or what is left until ctx ends.
func For(ctx context.Context, d time.Duration) { Until(ctx, nil, d) }

// Until ends early when done is closed.
func Until(ctx context.Context, done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	case <-ctx.Done():
	}
}
