package engine

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/internal/state"
)

// Overview is a summary of an account.
type Overview struct {
	Messages  map[state.MessageState]int // by current state, since the account was created or reset
	Runs      map[state.RunState]int     // likewise
	Now       time.Time
	NextDue   time.Time // when the next timer fires; zero for never
	InFlight  int       // attempts in flight
	Parallel  int       // largest number of concurrent attempts
	Attempts  int       // started since this process began
	DLQ       int       // number of entries
	FlowKeys  int
	Paused    int // flow-control keys that are paused
	Groups    int
	Queues    int
	Schedules int
	Waiters   int // number of waits for events

	// Unsaved reports that the journal has records after its last snapshot. A program with other
	// rules or libraries may not be able to replay them.
	Unsaved bool
}

// Overview summarizes the account, and returns a channel that is closed when the summary may
// have changed. Its cost does not depend on the number of messages.
func (a *Account) Overview() (Overview, <-chan struct{}) {
	a.lock()
	defer a.unlock()
	o := Overview{
		Now: a.state.Now, InFlight: a.state.Running, Parallel: a.cfg.Parallel,
		DLQ: a.state.DLQ.Len(), FlowKeys: len(a.state.Flows), Groups: len(a.state.Groups), Queues: len(a.state.Queues),
		Schedules: len(a.state.Schedules), Waiters: len(a.state.Waiters),
	}
	o.Messages, o.Runs = nonZeroCounts(a.state.Tally.Messages), nonZeroCounts(a.state.Tally.Runs)
	for _, k := range a.state.Flows {
		if k.Paused {
			o.Paused++
		}
	}
	o.NextDue, _ = a.state.Timers.Next()
	o.Attempts, o.Unsaved = a.attempts, a.lsn > a.savedLSN && !a.replaying
	return o, a.changes()
}

// glance is what Glance returns, as of the last time that the lock was released.
type glance struct {
	now, inFlight atomic.Int64
	ticking       atomic.Pointer[clock.Real] // nil for a clock that only commands move
}

// Glance returns the account's time and the number of attempts in flight. It never waits for
// the lock, and may miss the effect of a command in progress.
func (a *Account) Glance() (now time.Time, inFlight int) {
	now = time.UnixMilli(a.glance.now.Load())
	if c := a.glance.ticking.Load(); c != nil && c.Now().After(now) {
		now = c.Now()
	}
	return now, int(a.glance.inFlight.Load())
}

// show makes the state visible to Glance. It runs before the lock is released.
func (a *Account) show() {
	a.glance.now.Store(a.state.Now.UnixMilli())
	a.glance.inFlight.Store(int64(a.state.Running))
	ticking, _ := a.cfg.Clock.(*clock.Real)
	if a.replaying {
		ticking = nil
	}
	a.glance.ticking.Store(ticking)
}

// Touch notifies the followers of the account of a change that is not in the log.
func (a *Account) Touch() {
	a.lock()
	defer a.unlock()
	a.changed()
}

// changes is closed by the next change.
func (a *Account) changes() <-chan struct{} {
	if a.more == nil {
		a.more = make(chan struct{})
	}
	return a.more
}

// changed closes the channel. The next follower creates a new one, so that
// commands cost nothing without followers.
func (a *Account) changed() {
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}

// nonZeroCounts leaves out the states with a count of 0.
func nonZeroCounts[S comparable](counts map[S]int) map[S]int {
	c := maps.Clone(counts)
	maps.DeleteFunc(c, func(_ S, n int) bool { return n == 0 })
	return c
}
