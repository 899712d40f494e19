package view

import (
	"maps"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// nonZeroCounts leaves out the states with a count of 0.
func nonZeroCounts[S comparable](counts map[S]int) map[S]int {
	c := maps.Clone(counts)
	maps.DeleteFunc(c, func(_ S, n int) bool { return n == 0 })
	return c
}

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

// Overview summarizes the account.
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
