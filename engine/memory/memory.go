// Package memory counts, in bytes, what the accounts of a process keep.
//
//	l := &memory.Ledger{MaxWork: 1 << 30}
//	acct := engine.New(engine.Config{Memory: l, ...})
//
// Work is what the accounts still need: messages that have not ended, DLQ entries, runs that have
// not ended or that a DLQ entry can restart, schedules, vectors, URL groups, queues, flow-control
// keys and deduplication ids. Work is never dropped; at its limit, accounts refuse new work.
// Observations are only for reading: the log, and the messages and runs that have ended.
// Account.Forget drops them. A shared body counts once for each object that has it, so the sums
// are upper bounds. This package only counts: it enforces no limit and drops nothing.
package memory

import "sync/atomic"

// Ledger has the counts of a process. The zero value has no limits.
type Ledger struct {
	MaxWork     int64 // bytes; 0: no limit
	MaxMessages int64 // messages that have not ended; 0: no limit

	work, messages, observed atomic.Int64
}

// Work returns the bytes of work and the number of messages that have not ended.
func (l *Ledger) Work() (bytes, messages int64) { return l.work.Load(), l.messages.Load() }

// AddWork adds bytes of work; a negative number subtracts.
func (l *Ledger) AddWork(bytes int64) { l.work.Add(bytes) }

// AddMessages adds to the number of messages that have not ended.
func (l *Ledger) AddMessages(n int64) { l.messages.Add(n) }

// Observed returns the bytes of observations, including those outside of the accounts.
func (l *Ledger) Observed() int64 { return l.observed.Load() }

// AddObserved adds bytes of observations.
func (l *Ledger) AddObserved(bytes int64) { l.observed.Add(bytes) }
