package ratelimit

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// wall is the time of a host that gave no clock; the only place of this package
// that reads it.
func wall() time.Time { return time.Now() }

// clockHeader is in each answer of a store whose time is not that of the wall:
// a stand-in whose clock a test moves.
const clockHeader = "Understudy-Clock"

// clock knows whose time counts.
type clock struct{ asked, moved atomic.Bool }

// learn remembers what the store's answer says of its time.
func (c *clock) learn(h http.Header) {
	c.asked.Store(true)
	c.moved.Store(h.Get(clockHeader) != "")
}

// now is the time by which requests count: that of the configuration, or that of
// a store whose clock is moved, else that of the wall. Only a store whose clock
// is moved is asked for the time again, once for each request.
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
		return wall() // the decision, which asks the store as well, says what is wrong
	}
	return time.Unix(parts[0], parts[1]*1000)
}
