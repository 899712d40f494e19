package receiver

import (
	"context"
	"time"
)

// now is the real time: deliveries arrive in real time.
func now() time.Time { return time.Now() }

// pause waits for d, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
