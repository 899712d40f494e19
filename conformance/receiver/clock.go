package receiver

import (
	"context"
	"time"
)

// now is the time of the world: a delivery arrives when it arrives.
func now() time.Time { return time.Now() }

// pause lets d go by, or less when the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
