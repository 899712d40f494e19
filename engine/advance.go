package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Progress reports what an Advance did.
type Progress struct {
	Now         time.Time
	NextDue     time.Time // when the next timer fires; zero for never
	TimersFired int
	Attempts    int // started
	Failed      int // attempts that failed
	RunsWoken   int // runs whose sleep or wait for an event ended
}

// movement is an Advance in progress.
type movement struct {
	Progress
	woken map[string]bool // ids of runs
}

// wokeRun counts a run whose sleep or wait ended, if an Advance is in progress.
func (p *movement) wokeRun(id string) {
	if p != nil {
		p.woken[id] = true
		p.RunsWoken = len(p.woken)
	}
}

// Advance moves a manual clock to the given time. Every timer on the way fires at its own
// instant. The clock stops while an attempt is ready or in flight, so that what a timer causes
// happens at the time of the timer. When ctx ends, Advance returns early with the error of ctx.
// It returns ErrInvalid for a clock in real time or a time in the past, and ErrEnded when a
// reset, a snapshot or another clock replaces the clock meanwhile.
func (a *Account) Advance(ctx context.Context, to time.Time) (Progress, error) {
	return runDurably(a, func() (Progress, error) {
		p := movement{woken: map[string]bool{}}
		err := a.advance(ctx, to, &p)
		return p.Progress, err
	})
}

// AdvanceUntil moves a manual clock to the next timer, or, when idle is set,
// from timer to timer until only timers of schedules are left.
func (a *Account) AdvanceUntil(ctx context.Context, idle bool) (Progress, error) {
	return runDurably(a, func() (Progress, error) { return a.advanceUntil(ctx, idle) })
}

// advanceUntil advances one timer at a time, because each may set timers that
// are due before the existing ones.
func (a *Account) advanceUntil(ctx context.Context, idle bool) (Progress, error) {
	p := movement{woken: map[string]bool{}}
	err := a.advance(ctx, a.state.Now, &p)
	for err == nil {
		due, ok := a.nextDue()
		if !ok || idle && a.onlySchedules() {
			break
		}
		err = a.advance(ctx, due, &p)
		if !idle {
			break
		}
	}
	return p.Progress, err
}

// advance adds to p what it does. It releases the lock while it waits for attempts, and checks
// after each wait that the state was not replaced. Only one advance runs at a time; other callers
// wait for its end.
func (a *Account) advance(ctx context.Context, to time.Time, p *movement) error {
	defer func() { p.Now = a.state.Now; p.NextDue, _ = a.state.Timers.Next() }()
	manual, ok := a.cfg.Clock.(*clock.Manual)
	if !ok {
		return refusal.Of(ErrInvalid, "clock", "", "runs in real time; only a manual clock can be advanced")
	}
	to = to.Truncate(time.Millisecond)
	if !clock.Valid(to) {
		return refusal.OfValue("time", strconv.FormatInt(to.UnixMilli(), 10), "out of range", fmt.Sprintf("from 0 to %d in Unix ms, the years 1970 to 9999", clock.LastTime))
	}
	if to.Before(a.state.Now) {
		return refusal.Of(ErrInvalid, "time", to.UTC().Format(time.RFC3339Nano), "is before now, "+a.state.Now.UTC().Format(time.RFC3339Nano)+"; a clock only moves forward, except by a reset")
	}
	defer a.wakeOn(ctx)()
	for a.moving != nil {
		if err := a.rest(ctx); err != nil {
			return err
		}
	}
	a.moving = p
	before, restored := a.attempts-p.Attempts, a.restored
	defer func() { a.moving, p.Attempts = nil, a.attempts-before; a.quiet.Broadcast() }()
	for {
		err := a.settled(ctx)
		if a.restored != restored {
			return refusal.Of(ErrEnded, "clock", "", "the state was replaced by a snapshot or a reset meanwhile")
		}
		if a.cfg.Clock != clock.Clock(manual) {
			return refusal.Of(ErrEnded, "clock", "", "another clock was set meanwhile, at "+a.state.Now.UTC().Format(time.RFC3339))
		}
		if err == nil && ctx.Err() != nil { // timers without attempts never wait, so check ctx here: there may be endlessly many
			err = refusal.Of(ctx.Err(), "clock", "", "stopped at "+a.state.Now.UTC().Format(time.RFC3339))
		}
		due, ok := a.nextDue()
		last := err != nil || !ok || due.After(to)
		if err == nil && last {
			due = to
		}
		if err == nil && (!last || due.After(a.state.Now)) {
			manual.Set(due)
			a.state.Now = due
			var n int
			n, err = applyCommand(a, tick{})
			p.TimersFired += n
		}
		if last || err != nil {
			return err
		}
	}
}

// nextDue is when the next timer fires. An overdue timer is due now; a snapshot
// of a real clock may contain one.
func (a *Account) nextDue() (time.Time, bool) {
	due, ok := a.state.Timers.Next()
	if due.Before(a.state.Now) {
		due = a.state.Now
	}
	return due, ok
}

// Settle waits until nothing is ready or in flight.
func (a *Account) Settle(ctx context.Context) error {
	a.lock()
	defer a.unlock()
	defer a.wakeOn(ctx)()
	return a.settled(ctx)
}

// settled waits until all ready attempts have ended and were reported.
func (a *Account) settled(ctx context.Context) error {
	for a.busy() || a.outbox.telling {
		if err := a.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rest waits for a signal that attempts may have ended. wakeOn must be active,
// so that the end of ctx ends the wait.
func (a *Account) rest(ctx context.Context) error {
	if a.closed {
		return refusal.Of(ErrClosed, "account", a.cfg.ID, "closed")
	}
	if ctx.Err() != nil {
		return refusal.Of(ctx.Err(), "settle", "", fmt.Sprintf("attempts still in flight: %d, ready: %d", a.state.Running, a.state.WaitingTurns()))
	}
	a.show()
	a.quiet.Wait()
	return nil
}

// wakeOn makes the end of ctx wake rest. The returned function undoes this.
func (a *Account) wakeOn(ctx context.Context) func() {
	stop := context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.quiet.Broadcast()
	})
	return func() { stop() }
}

// onlySchedules reports whether only timers of schedules are left.
func (a *Account) onlySchedules() bool { return len(a.state.Timers.Heap) <= a.state.Timers.Cron }

// skip moves an auto clock to the next timer. It stops when only schedules are
// left: their timers never end.
func (a *Account) skip() {
	if !a.cfg.Auto || a.skipping || a.moving != nil || a.closed || a.onlySchedules() {
		return
	}
	due, _ := a.nextDue()
	if !clock.Valid(due) {
		return // beyond the last time of a clock
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

// SetClock replaces the clock. Time never goes back: a clock that is behind the account's time
// continues from that time. A real clock then keeps its offset to the wall clock until a reset
// or CorrectClock, so that delays still take their real duration.
func (a *Account) SetClock(c clock.Clock, auto bool) error {
	return do(a, setClock{modeOf(c, auto), c.Now().Truncate(time.Millisecond), c})
}

// setClock has the mode and the time of a clock for the record, and the clock
// itself for a live account.
type setClock struct {
	Mode  string    // real, manual or auto
	Now   time.Time // the time of the clock
	clock clock.Clock
}

// apply takes the time of the new clock only if it is ahead: time never goes
// back, and timers depend on it. It fires at once what is due by then, because
// the alarm of the old clock is gone and a manual clock has none.
func (c setClock) apply(a *Account) error {
	if c.Now.After(a.state.Now) {
		a.state.Now = c.Now
	}
	a.follow(c.Mode, c.clock)
	_, err := tick{}.apply(a)
	return err
}

// CorrectClock sets an account in real time that is ahead of the wall clock to the wall clock
// (decided: 75). All times of the state move back by the same amount, so that each timer keeps
// its remaining wait. Attempts in flight are cancelled and repeated, as after Restore. It returns
// ErrInvalid for a clock that is not real.
func (a *Account) CorrectClock() error {
	a.saves.Lock() // moving marks the objects of the state, as another snapshot does
	defer a.saves.Unlock()
	return doDurably(a, a.correctClock)
}

// correctClock does nothing if the account is not ahead of the wall clock.
func (a *Account) correctClock() error {
	c, ok := a.cfg.Clock.(*clock.Real)
	if !ok {
		return refusal.Of(ErrInvalid, "clock", a.mode, "does not follow the clock of this machine; only a real clock can be corrected")
	}
	by := c.Wall().Truncate(time.Millisecond).Sub(a.state.Now)
	if by >= 0 {
		return nil
	}
	return a.moveTime(by)
}

// moveTime restores a snapshot of the state in which all times are moved. The record has the
// new time, because a restore keeps a later one. No other snapshot is being written.
func (a *Account) moveTime(by time.Duration) error {
	a.saveEpoch++
	moved, err := state.Moved(&a.state, state.Instant{Epoch: a.saveEpoch, Account: a.cfg.ID, Clock: a.mode}, by)
	if err != nil {
		return err
	}
	a.state.Now = moved.Now
	return applyDeed(a, restore{moved.Recorded(true)})
}

// follow installs a clock; nil keeps the current one. The clock is set to the
// account's time after the command has been recorded.
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
