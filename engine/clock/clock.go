// Package clock has the clocks of accounts: wall time, and time that moves by hand.
//
//	c := clock.NewManual(start)
//	acct := engine.New(engine.Config{Clock: c, ...})
//
// It is also for whoever outside of the engine needs the time of the real world,
// so that one file reads it. It knows no accounts.
package clock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Clock tells the time and rings at most one alarm; the zero time disarms it.
type Clock interface {
	Now() time.Time
	Alarm(at time.Time, ring func())
}

// LastTime is the end of the year 9999, in Unix ms.
const LastTime = 253_402_300_799_999

// Valid reports whether a clock may show t: a time in the years 1970 to 9999,
// which every format of a time can hold.
func Valid(t time.Time) bool { return t.UnixMilli() >= 0 && t.UnixMilli() <= LastTime }

// Real is wall time, or a time ahead of it that passes as fast, where an account
// comes from a clock that was moved.
type Real struct {
	mu    sync.Mutex
	timer *time.Timer
	ahead atomic.Int64 // of the wall, a time.Duration
}

// NewReal returns wall time for one account.
func NewReal() *Real { return &Real{} }

// Now is the wall time.
func (r *Real) Now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// StartFrom lets the clock go on from t, where that is ahead of the wall.
func (r *Real) StartFrom(t time.Time) { r.ahead.Store(max(0, int64(time.Until(t)))) }

// Alarm calls ring at the given time, in place of any alarm before.
func (r *Real) Alarm(at time.Time, ring func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if !at.IsZero() {
		r.timer = time.AfterFunc(time.Until(at)-time.Duration(r.ahead.Load()), ring)
	}
}

// Manual is time that moves only by Account.Advance.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual returns a clock that stands at start, cut to the millisecond.
func NewManual(start time.Time) *Manual {
	return &Manual{now: start.Truncate(time.Millisecond)}
}

// Now is where the clock stands.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Alarm does nothing: whoever moves the clock looks for due timers.
func (m *Manual) Alarm(time.Time, func()) {}

// Set moves the clock; only an advance of its account calls it.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t
}

// Pause waits a time of the wall, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
