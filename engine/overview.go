package engine

import (
	"maps"
	"time"
)

// tally counts messages and runs by the state that they are in now, those that
// have ended included, since the account began or was reset.
type tally struct {
	Messages map[MessageState]int
	Runs     map[RunState]int
}

func newTally() tally {
	return tally{Messages: map[MessageState]int{}, Runs: map[RunState]int{}}
}

// message counts a message that goes from one state to another.
func (t *tally) message(from, to MessageState) {
	if from != "" {
		t.Messages[from]--
	}
	t.Messages[to]++
}

// run counts a run-level event. What is only logged changes nothing.
func (t *tally) run(to RunState) {
	switch to {
	case RunStarted:
		t.Runs[to]++
	case RunSuccess, RunFailed, RunCanceled:
		t.Runs[RunStarted]--
		t.Runs[to]++
	}
}

// compact leaves out the states that nothing is in.
func compact[S comparable](counts map[S]int) map[S]int {
	c := maps.Clone(counts)
	maps.DeleteFunc(c, func(_ S, n int) bool { return n == 0 })
	return c
}

// tallied counts anew, after a snapshot was read.
func (s *state) tallied() {
	s.tally = newTally()
	seen := map[*Message]bool{}
	for _, e := range s.log.created {
		if !seen[e.msg] {
			seen[e.msg] = true
			s.tally.Messages[e.msg.State]++
		}
	}
	for _, m := range s.messages {
		if !seen[m] {
			s.tally.Messages[m.State]++
		}
	}
	for r := range s.runList.newest(newestPosition) {
		s.tally.Runs[r.State]++
	}
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
		Now: a.now, InFlight: a.running, Parallel: a.cfg.Parallel, Attempts: a.attempts,
		DLQ: a.dlq.len(), FlowKeys: len(a.flows), Groups: len(a.groups), Queues: len(a.queues),
		Schedules: len(a.schedules), Waiters: len(a.waiters),
	}
	o.Messages, o.Runs = compact(a.tally.Messages), compact(a.tally.Runs)
	for _, k := range a.flows {
		if k.Paused {
			o.Paused++
		}
	}
	o.NextDue, _ = a.timers.next()
	return o, a.changes()
}

// Touch tells whoever follows the account that something has changed that the
// log does not show.
func (a *Account) Touch() {
	a.lock()
	defer a.unlock()
	a.changed()
}

// changesState is closed by the next change.
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
