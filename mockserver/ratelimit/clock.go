package ratelimit

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// wall is the time of a host without Config.Now. It is the only function of this
// package that reads the wall clock.
func wall() time.Time { return time.Now() }

// clockHeader is in each answer of a store that does not use the wall clock: a
// stand-in whose clock a test moves.
const clockHeader = "Understudy-Clock"

// clock records whether the store has answered, and whether its clock is moved.
type clock struct{ asked, moved atomic.Bool }

// learn reads the clock header of an answer of the store.
func (c *clock) learn(h http.Header) {
	c.asked.Store(true)
	c.moved.Store(h.Get(clockHeader) != "")
}

// now is the time at which a request counts: the configured time, the time of a
// store whose clock is moved, or the wall time. The first request, and every request
// to a store whose clock is moved, asks the store for its time.
func (p *plugin) now(ctx context.Context) time.Time {
	if p.cfg.Now != nil {
		return p.cfg.Now()
	}
	if p.store.clock.asked.Load() && !p.store.clock.moved.Load() {
		return wall()
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	parts, err := p.store.numbers(ctx, []string{"TIME"})
	if err != nil || len(parts) != 2 || !p.store.clock.moved.Load() {
		return wall() // the decision also asks the store and reports the error
	}
	return time.Unix(parts[0], parts[1]*1000)
}
