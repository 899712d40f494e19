// Package memory counts, in bytes, what the accounts of a process keep.
//
//	l := &memory.Ledger{MaxWork: 1 << 30}
//	acct := engine.New(engine.Config{Memory: l, ...})
//
// Work is what the accounts still need: messages that have not ended, DLQ entries,
// runs that have not ended or that a DLQ entry can bring back, schedules, vectors,
// URL groups, queues, flow-control keys and deduplication ids. It is never dropped;
// beyond its bounds the accounts refuse new work. Observations are what only readers
// want: the log, with the messages and runs that have ended. Account.Forget drops
// them. A shared body counts once for each that holds it, so the sums are upper
// bounds. The package bounds and drops nothing itself.
package memory

import "sync/atomic"

// Ledger is the counts of a process. The zero value has no bounds.
type Ledger struct {
	MaxWork     int64 // bytes; 0: no bound
	MaxMessages int64 // that have not ended; 0: no bound

	work, messages, observed atomic.Int64
}

// Work is the bytes of work, and how many messages have not ended.
func (l *Ledger) Work() (bytes, messages int64) { return l.work.Load(), l.messages.Load() }

// AddWork counts bytes of work.
func (l *Ledger) AddWork(bytes int64) { l.work.Add(bytes) }

// AddMessages counts messages that have not ended.
func (l *Ledger) AddMessages(n int64) { l.messages.Add(n) }

// Observed is the bytes of observations, those outside of the accounts included.
func (l *Ledger) Observed() int64 { return l.observed.Load() }

// AddObserved counts bytes of observations.
func (l *Ledger) AddObserved(bytes int64) { l.observed.Add(bytes) }
