package tenant

import (
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
)

func (r *Registry) newClock(mode string) clock.Clock {
	if mode == "real" {
		return clock.NewReal()
	}
	start := r.cfg.Start
	switch {
	case !start.IsZero():
	case r.cfg.Seed != 0:
		start = seededStart
	default:
		start = r.cfg.Wall.Now()
	}
	return clock.NewManual(start)
}

// Mode is that of the account's clock: real, manual or auto.
func (r *Registry) Mode(t *Tenant) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.mode
}

// SetMode gives an account another clock, which begins at the account's time.
func (r *Registry) SetMode(t *Tenant, mode string) error {
	r.mu.Lock()
	same := t.mode == mode
	t.mode = mode
	r.mu.Unlock()
	if same {
		return nil
	}
	var next clock.Clock = clock.NewReal()
	if mode != "real" {
		next = clock.NewManual(t.Account.Now())
	}
	return t.Account.SetClock(next, mode == "auto")
}

// Reset forgets the state of an account, its journals and what tests have told it,
// and gives it the clock that the configuration says: one that was moved or
// replaced is back where it began. The key-value store is left alone.
func (r *Registry) Reset(t *Tenant) error {
	r.mu.Lock()
	t.mode = r.cfg.Clock
	r.mu.Unlock()
	if err := t.Account.Reset(r.newClock(r.cfg.Clock), r.cfg.Clock == "auto"); err != nil {
		return err
	}
	t.Forget()
	t.Stubs.Set(r.cfg.Stubs)
	t.Rewrites.Set(r.cfg.Rewrites)
	t.Faults.Set(nil, r.Seed(t.ID))
	return nil
}

// Repeats reports whether the same commands give the same bytes: with a seed,
// on a clock that is not real.
func (r *Registry) Repeats(t *Tenant) bool {
	return r.cfg.Seed != 0 && r.Mode(t) != "real"
}

// Stamp is the time of the wall, in Unix ms; in a server that repeats, the
// account's time instead.
func (r *Registry) Stamp(t *Tenant) int64 {
	if r.Repeats(t) {
		return t.Account.Now().UnixMilli()
	}
	return r.cfg.Wall.Now().UnixMilli()
}

// RealTime is the time of the wall in Unix ms, 0 in a server that repeats.
func (r *Registry) RealTime(t *Tenant) int64 {
	if r.Repeats(t) {
		return 0
	}
	return r.cfg.Wall.Now().UnixMilli()
}

// SignedAt is when a delivery is signed: wall time, since receivers verify against
// the wall, however far a manual clock has been advanced; under a seed the account's
// time instead, so that runs repeat to the byte.
func (r *Registry) SignedAt(attempt time.Time) time.Time {
	if r.cfg.Seed != 0 {
		return attempt
	}
	return r.cfg.Wall.Now()
}
