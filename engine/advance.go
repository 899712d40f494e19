package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Progress is what an Advance did.
type Progress struct {
	Now         time.Time
	TimersFired int
	Attempts    int
}

// Advance moves a manual clock to the given time. Every timer on the way fires
// at its own instant, and the clock stands still while anything is ready or in
// flight, so that what a timer causes happens at that timer's time. It returns
// early, with the error of ctx, when ctx ends.
func (a *Account) Advance(ctx context.Context, to time.Time) (Progress, error) {
	return runDurably(a, func() (Progress, error) { return a.advance(ctx, to) })
}

// AdvanceUntil moves a manual clock to the next timer, or, when idle is set, from
// timer to timer until none is left but those of schedules.
func (a *Account) AdvanceUntil(ctx context.Context, idle bool) (Progress, error) {
	return runDurably(a, func() (Progress, error) { return a.advanceUntil(ctx, idle) })
}

// advanceUntil moves on step by step, since each timer may book others that come before
// those that were there.
func (a *Account) advanceUntil(ctx context.Context, idle bool) (Progress, error) {
	sum, err := a.advance(ctx, a.state.Now)
	for err == nil {
		due, ok := a.state.Timers.Next()
		if !ok || idle && a.onlySchedules() {
			break
		}
		var p Progress
		p, err = a.advance(ctx, due)
		sum = Progress{p.Now, sum.TimersFired + p.TimersFired, sum.Attempts + p.Attempts}
		if !idle {
			break
		}
	}
	return sum, err
}

// advance gives up the lock while it waits for attempts. So it looks again whether the
// state is still the one that it began with, and only one advance is under way at a time:
// another caller waits for its end.
func (a *Account) advance(ctx context.Context, to time.Time) (Progress, error) {
	manual, ok := a.cfg.Clock.(*clock.Manual)
	if !ok {
		return Progress{Now: a.state.Now}, refusal.Of(ErrInvalid, "clock", "", "runs in real time; only a manual clock can be advanced")
	}
	to = to.Truncate(time.Millisecond)
	if !clock.Valid(to) {
		return Progress{Now: a.state.Now}, refusal.OfValue("time", strconv.FormatInt(to.UnixMilli(), 10), "out of range", fmt.Sprintf("from 0 to %d in Unix ms, the years 1970 to 9999", clock.LastTime))
	}
	if to.Before(a.state.Now) {
		return Progress{Now: a.state.Now}, refusal.Of(ErrInvalid, "time", to.UTC().Format(time.RFC3339Nano), "is before now, "+a.state.Now.UTC().Format(time.RFC3339Nano)+"; time only goes forward, and a reset takes it back")
	}
	defer a.wakeOn(ctx)()
	for a.advancing {
		if err := a.rest(ctx); err != nil {
			return Progress{Now: a.state.Now}, err
		}
	}
	a.advancing = true
	defer func() { a.advancing = false; a.quiet.Broadcast() }()
	before, fired, restored := a.attempts, 0, a.restored
	for {
		err := a.settled(ctx)
		if a.restored != restored {
			return Progress{Now: a.state.Now}, refusal.Of(ErrEnded, "clock", "", "the state was replaced by a snapshot or a reset meanwhile")
		}
		if err == nil && ctx.Err() != nil { // nothing to rest for: timers alone may take for ever
			err = refusal.Of(ctx.Err(), "clock", "", fmt.Sprintf("stopped at %s, after %d timers", a.state.Now.UTC().Format(time.RFC3339), fired))
		}
		due, ok := a.state.Timers.Next()
		last := err != nil || !ok || due.After(to)
		if err == nil && last {
			due = to
		}
		if err == nil && (!last || due.After(a.state.Now)) {
			manual.Set(due)
			a.state.Now = due
			var n int
			n, err = applyCommand(a, tick{})
			fired += n
		}
		if last || err != nil {
			return Progress{Now: a.state.Now, TimersFired: fired, Attempts: a.attempts - before}, err
		}
	}
}

// Settle waits until nothing is ready or in flight.
func (a *Account) Settle(ctx context.Context) error {
	a.lock()
	defer a.unlock()
	defer a.wakeOn(ctx)()
	return a.settled(ctx)
}

// settled waits until all that is ready has ended, and has been told.
func (a *Account) settled(ctx context.Context) error {
	for a.busy() || a.outbox.telling {
		if err := a.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rest waits for a sign that something has come to rest; wakeOn must be in force.
func (a *Account) rest(ctx context.Context) error {
	if a.closed {
		return refusal.Of(ErrClosed, "account", a.cfg.ID, "closed")
	}
	if ctx.Err() != nil {
		return refusal.Of(ctx.Err(), "settle", "", fmt.Sprintf("still %d attempts in flight and %d ready", a.state.Running, a.state.WaitingTurns()))
	}
	a.quiet.Wait()
	return nil
}

// wakeOn makes the end of ctx a sign as well. The function that it returns
// takes this back.
func (a *Account) wakeOn(ctx context.Context) func() {
	stop := context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.quiet.Broadcast()
	})
	return func() { stop() }
}

// onlySchedules reports whether no timer is left but those of schedules.
func (a *Account) onlySchedules() bool { return len(a.state.Timers.Heap) <= a.state.Timers.Cron }

// skip moves an auto clock to the next timer. Schedules alone do not count:
// they come again for ever.
func (a *Account) skip() {
	if !a.cfg.Auto || a.skipping || a.advancing || a.closed || a.onlySchedules() {
		return
	}
	due, _ := a.state.Timers.Next()
	if !clock.Valid(due) {
		return // no clock gets there
	}
	a.skipping = true
	a.wg.Add(1)
	go a.skipTo(due)
}

// skipTo is the body of the auto clock's goroutine.
func (a *Account) skipTo(due time.Time) {
	defer a.wg.Done()
	_, err := a.Advance(a.ctx, due)
	a.lock()
	defer a.unlock()
	a.skipping = false
	if err != nil && a.ctx.Err() == nil && !errors.Is(err, ErrEnded) {
		a.note(slog.LevelError, "auto clock", "error", err)
	}
}

// SetClock replaces the clock. One that is behind the account's time goes on
// from there: time never runs backwards: a real clock keeps its distance
// from the wall, so that delays take as long as they say, until a reset.
func (a *Account) SetClock(c clock.Clock, auto bool) error {
	return errorOnly(runCommand(a, setClock{modeOf(c, auto), c.Now().Truncate(time.Millisecond), c}))
}

// setClock has the name and the time of a clock for the record, and the clock itself for
// the account that is live.
type setClock struct {
	Mode  string    // real, manual or auto
	Now   time.Time // where the clock is
	clock clock.Clock
}

// apply takes the time of the new clock only if it is ahead: time never runs backwards,
// and timers are booked against it.
func (c setClock) apply(a *Account) (nothing, error) {
	if c.Now.After(a.state.Now) {
		a.state.Now = c.Now
	}
	a.follow(c.Mode, c.clock)
	return nothing{}, nil
}

// follow takes a clock, nil for the one that is there. It is set to the time of the
// account when the command has been recorded.
func (a *Account) follow(mode string, c clock.Clock) {
	a.mode, a.turned = mode, true
	if c != nil {
		a.cfg.Clock, a.cfg.Auto = c, mode == "auto"
	}
}

// turnClock sets the clock to the time of the account.
func (a *Account) turnClock() {
	a.turned = false
	switch c := a.cfg.Clock.(type) {
	case *clock.Manual:
		c.Set(a.state.Now)
	case *clock.Real:
		c.StartFrom(a.state.Now)
	}
	a.stamp()
}
