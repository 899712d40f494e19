package tenant

import (
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

// Mode returns the mode of the account's clock: real, manual or auto.
func (r *Registry) Mode(t *Tenant) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.mode
}

// SetMode replaces the clock of an account if the mode changes. A manual or auto
// clock starts at the account's time.
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

// Reset removes the state of an account, its journals and its faults, and restores
// the configured stubs, rewrites and clock. The key-value store is left alone.
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

// Stamp returns the wall-clock time in Unix ms, or the time of the account when
// Repeats is true.
func (r *Registry) Stamp(t *Tenant) int64 {
	if r.Repeats(t) && !t.Elsewhere() {
		return t.Account.Now().UnixMilli()
	}
	return r.cfg.Wall.Now().UnixMilli()
}

// RealTime returns the wall-clock time in Unix ms; 0 when Repeats is true.
func (r *Registry) RealTime(t *Tenant) int64 {
	if r.Repeats(t) {
		return 0
	}
	return r.cfg.Wall.Now().UnixMilli()
}
