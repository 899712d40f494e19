package engine

import (
	"maps"
	"time"
)

// compact leaves out the states that nothing is in.
func compact[S comparable](counts map[S]int) map[S]int {
	c := maps.Clone(counts)
	maps.DeleteFunc(c, func(_ S, n int) bool { return n == 0 })
	return c
}

// Overview is an account at a glance.
type Overview struct {
	Messages  map[MessageState]int // by the state that they are in, since the account began or was reset
	Runs      map[RunState]int     // in the same way
	Now       time.Time
	NextDue   time.Time // when the next timer rings; zero for never
	InFlight  int       // attempts
	Parallel  int       // most of them at once
	Attempts  int       // ever begun by this process
	DLQ       int       // entries
	FlowKeys  int
	Paused    int // flow-control keys that are paused
	Groups    int
	Queues    int
	Schedules int
	Waiters   int // of events
}

// Overview tells how things stand, and gives a channel that is closed when
// that may have changed. It costs the same however many messages there are.
func (a *Account) Overview() (Overview, <-chan struct{}) {
	a.lock()
	defer a.unlock()
	o := Overview{
		Now: a.state.Now, InFlight: a.state.Running, Parallel: a.cfg.Parallel, Attempts: a.attempts,
		DLQ: a.state.DLQ.Len(), FlowKeys: len(a.state.Flows), Groups: len(a.state.Groups), Queues: len(a.state.Queues),
		Schedules: len(a.state.Schedules), Waiters: len(a.state.Waiters),
	}
	o.Messages, o.Runs = compact(a.state.Tally.Messages), compact(a.state.Tally.Runs)
	for _, k := range a.state.Flows {
		if k.Paused {
			o.Paused++
		}
	}
	o.NextDue, _ = a.state.Timers.Next()
	return o, a.changes()
}

// Touch tells whoever follows the account that something has changed that the
// log does not show.
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

func (a *Account) changed() {
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}
