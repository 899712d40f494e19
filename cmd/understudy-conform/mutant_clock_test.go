package main

import (
	"context"
	"sync"
	"time"
)

// waitFor waits for d or until ctx ends.
func waitFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// recent stores the last id and its time for each place.
type recent struct {
	within time.Duration

	mu   sync.Mutex
	id   map[string]string
	when map[string]time.Time
}

// follows reports whether another id came to a place within the last period r.within.
func (r *recent) follows(place, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.id == nil {
		r.id, r.when = map[string]string{}, map[string]time.Time{}
	}
	if last, ok := r.id[place]; ok && last != id && r.when[place].Add(r.within).After(time.Now()) {
		return true
	}
	r.id[place], r.when[place] = id, time.Now()
	return false
}

// nowMs returns the local time in Unix ms.
func nowMs() int64 { return time.Now().UnixMilli() }
