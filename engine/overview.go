package engine

import (
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/internal/view"
)

// Overview summarizes the account, and returns a channel that is closed when the summary may
// have changed. Its cost does not depend on the number of messages.
func (a *Account) Overview() (Overview, <-chan struct{}) {
	a.lock()
	defer a.unlock()
	o := a.view().Overview()
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

// view is the current state for reading. It is valid only while the lock is held.
func (a *Account) view() *view.Account {
	return &view.Account{State: &a.state, Wire: a.cfg.Wire, HeaderName: a.headerName, RetryWait: a.retryWait, Parallel: a.cfg.Parallel}
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
