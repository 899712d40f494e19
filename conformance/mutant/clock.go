package mutant

import (
	"context"
	"sync"
	"time"
)

// waitFor lets d go by, or what is left until ctx ends.
func waitFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// recent remembers, by place, what came last and when.
type recent struct {
	within time.Duration

	mu   sync.Mutex
	id   map[string]string
	when map[string]time.Time
}

// follows reports whether something else came to a place shortly before.
func (r *recent) follows(place, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.id == nil {
		r.id, r.when = map[string]string{}, map[string]time.Time{}
	}
	if last, ok := r.id[place]; ok && last != id && time.Since(r.when[place]) < r.within {
		return true
	}
	r.id[place], r.when[place] = id, time.Now()
	return false
}

// nowMs is the time of the world in Unix ms.
func nowMs() int64 { return time.Now().UnixMilli() }
