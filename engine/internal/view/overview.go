package view

import (
	"maps"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// nonZeroCounts leaves out the states that nothing is in.
func nonZeroCounts[S comparable](counts map[S]int) map[S]int {
	c := maps.Clone(counts)
	maps.DeleteFunc(c, func(_ S, n int) bool { return n == 0 })
	return c
}

// Overview is an account at a glance.
type Overview struct {
	Messages  map[state.MessageState]int // by the state that they are in, since the account began or was reset
	Runs      map[state.RunState]int     // in the same way
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

// Overview tells how things stand.
func (a *Account) Overview() Overview {
	o := Overview{
		Now: a.State.Now, InFlight: a.State.Running, Parallel: a.Parallel,
		DLQ: a.State.DLQ.Len(), FlowKeys: len(a.State.Flows), Groups: len(a.State.Groups), Queues: len(a.State.Queues),
		Schedules: len(a.State.Schedules), Waiters: len(a.State.Waiters),
	}
	o.Messages, o.Runs = nonZeroCounts(a.State.Tally.Messages), nonZeroCounts(a.State.Tally.Runs)
	for _, k := range a.State.Flows {
		if k.Paused {
			o.Paused++
		}
	}
	o.NextDue, _ = a.State.Timers.Next()
	return o
}
