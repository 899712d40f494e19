package state

import (
	"slices"
	"time"
)

// FlowKey is the state of a flow-control key (decided: 5).
type FlowKey struct {
	Key               string
	Waiting           int
	Parallelism       int // largest number of attempts in flight, 0 for no limit
	InFlight          int
	Rate              int // largest number of starts within a period, 0 for no limit
	RateCount         int // starts within the period that ends now
	Period            time.Duration
	PeriodStart       time.Time // the oldest of these starts, or now
	Paused            bool
	PinnedParallelism bool
	PinnedRate        bool
}

// FlowGate holds messages until its limits let them start. No interval of one period has
// more than Rate starts. Starts has the times of the latest ones, so that the cost of a
// start does not depend on how many messages wait.
type FlowGate struct {
	FlowKey
	Held     FIFO[*Message]
	Starts   FIFO[time.Time] // within the last period before the latest start, oldest first
	Offered  bool            // it has a turn in State.Ready
	Timer    TimerPlace      // when its rate allows the next start; only while messages wait
	PausedAt time.Time
}

// ReadyTurn is an entry of the ready list: a message that may start at once, or a
// key that may let one of its messages start.
//
// A cancelled message keeps its turn, and a key whose first message was cancelled stays with the
// share that holds its turn, in snapshots too: after loading, the others start in the order that
// the journal has.
type ReadyTurn struct {
	Message *Message
	Key     *FlowGate
	Under   string // the URL whose share holds the turn of a key
}

// Limit sets the limits that a message has for the key, except those that are pinned.
func (k *FlowGate) Limit(f *FlowControl) {
	if !k.PinnedParallelism {
		k.Parallelism = f.Parallelism
	}
	if !k.PinnedRate {
		k.Rate, k.Period = f.Rate, f.Period
		if k.Period <= 0 {
			k.Period = time.Second
		}
	}
}

// recent returns the starts within the period that ends now, oldest first.
func (k *FlowGate) recent(now time.Time) []time.Time {
	starts := k.Starts.Items[k.Starts.Head:]
	old, _ := slices.BinarySearchFunc(starts, now.Add(-k.Period), func(start, limit time.Time) int {
		if start.After(limit) {
			return 1
		}
		return -1
	})
	return starts[old:]
}

// ForgetStarts removes the starts that are at least one period old.
func (k *FlowGate) ForgetStarts(now time.Time) {
	for n := len(k.recent(now)); k.Starts.Len() > n; {
		k.Starts.Pop()
	}
}

// NextStart returns when the rate allows the next start, zero if it does now. It removes nothing.
func (k *FlowGate) NextStart(now time.Time) time.Time {
	recent := k.recent(now)
	if k.Rate <= 0 || len(recent) < k.Rate {
		return time.Time{}
	}
	return recent[len(recent)-k.Rate].Add(k.Period)
}

// View returns the key as lists show it, with the period that ends now.
func (k *FlowGate) View(now time.Time) FlowKey {
	v := k.FlowKey
	recent := k.recent(now)
	if v.RateCount, v.PeriodStart = len(recent), now; len(recent) > 0 {
		v.PeriodStart = recent[0]
	}
	return v
}
