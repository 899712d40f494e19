// Package clock has the clocks of accounts: real time, and time that a test moves.
//
//	c := clock.NewManual(start)
//	acct := engine.New(engine.Config{Clock: c, ...})
//
// Code outside the engine that needs the real time uses it too, so that only one file reads
// the system clock. The package does not depend on accounts.
package clock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Clock has the time and at most one alarm. Alarm replaces the alarm; the zero time disarms it.
type Clock interface {
	Now() time.Time
	Alarm(at time.Time, ring func())
}

// LastTime is the last millisecond of the year 9999, in Unix ms.
const LastTime = 253_402_300_799_999

// Valid reports whether a clock may show t: a time in the years 1970 to 9999, which every
// time format can represent.
func Valid(t time.Time) bool { return t.UnixMilli() >= 0 && t.UnixMilli() <= LastTime }

// Real is the wall clock, plus a fixed offset if its account continues from a clock that is
// ahead.
type Real struct {
	mu    sync.Mutex
	timer *time.Timer
	ahead atomic.Int64 // offset to the wall clock, a time.Duration
}

// NewReal returns the wall clock for one account.
func NewReal() *Real { return &Real{} }

// Now returns the wall time plus the offset.
func (r *Real) Now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// Wall returns the wall time, without the offset.
func (r *Real) Wall() time.Time { return time.Now() }

// StartFrom makes the clock continue from t if t is ahead of the wall clock, and otherwise
// removes the offset.
func (r *Real) StartFrom(t time.Time) { r.ahead.Store(max(0, int64(time.Until(t)))) }

// Alarm calls ring at the given time and replaces the previous alarm.
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

// Manual is a clock that moves only when its account sets it.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual returns a clock that is stopped at start, truncated to milliseconds.
func NewManual(start time.Time) *Manual {
	return &Manual{now: start.Truncate(time.Millisecond)}
}

// Now returns the time of the clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Alarm does nothing: the code that moves the clock fires the due timers.
func (m *Manual) Alarm(time.Time, func()) {}

// Set sets the time; only the account of the clock calls it.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t
}

// Pause waits for d of real time. If ctx ends first, it returns the error of ctx.
func Pause(ctx context.Context, d time.Duration) error { return PauseUntil(ctx, nil, d) }

// PauseUntil is like Pause, and also returns nil when done is closed.
func PauseUntil(ctx context.Context, done <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-done:
	case <-timer.C:
	}
	return nil
}
