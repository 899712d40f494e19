package engine

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Ledger counts, in bytes, what the accounts of a process keep. The zero value has no limits.
//
// Work is what the accounts still need: messages that have not ended, DLQ entries, runs that have
// not ended or that a DLQ entry can restart, schedules, vectors, URL groups, queues, flow-control
// keys and deduplication ids. Work is never dropped; at its limit, accounts refuse new work.
// Observations are only for reading: the log, and the messages and runs that have ended.
// Account.Forget drops them. A shared body counts once for each object that has it, so the sums
// are upper bounds. A Ledger only counts: it refuses and drops nothing.
type Ledger struct {
	MaxWork     int64 // bytes; 0: no limit
	MaxMessages int64 // messages that have not ended; 0: no limit

	work, messages, observed atomic.Int64
}

// Work returns the bytes of work and the number of messages that have not ended.
func (l *Ledger) Work() (bytes, messages int64) { return l.work.Load(), l.messages.Load() }

// Observed returns the bytes of observations, including those outside of the accounts.
func (l *Ledger) Observed() int64 { return l.observed.Load() }

// AddObserved adds bytes of observations; a negative number subtracts.
func (l *Ledger) AddObserved(bytes int64) { l.observed.Add(bytes) }

// counted is what an account has added to the Ledger of its process, in bytes and messages.
type counted struct{ work, messages, observed int64 }

// addWork counts bytes that must be kept; only refusing publishes bounds them.
func (a *Account) addWork(bytes int64) {
	a.counted.work += bytes
	a.cfg.Memory.work.Add(bytes)
}

// addObserved counts bytes that may be dropped. The sum is atomic, because
// Observed reads it without the lock.
func (a *Account) addObserved(bytes int64) {
	a.counted.observed += bytes
	a.observed.Store(a.counted.observed)
	a.cfg.Memory.AddObserved(bytes)
}

// addMessage counts messages, in addition to their bytes: each has its own bound.
func (a *Account) addMessage(n int64) {
	a.counted.messages += n
	a.cfg.Memory.messages.Add(n)
}

// weigh counts a state that has replaced another one.
func (a *Account) weigh() {
	for _, m := range a.state.Messages {
		a.addMessage(1)
		a.addWork(state.MessageCost + int64(m.Weight))
	}
	for _, s := range a.state.Schedules {
		a.addWork(int64(s.Weight()))
	}
	for _, g := range a.state.Groups {
		a.addWork(g.Weight())
	}
	for name := range a.state.Queues {
		a.addWork(state.QueueCost + int64(len(name)))
	}
	for name := range a.state.Flows {
		a.addWork(state.FlowCost + int64(len(name)))
	}
	a.state.Dedup.Order.All(func(m state.DedupMark) { a.addWork(m.Weight()) })
	for _, x := range a.state.Vectors {
		a.addWork(x.Bytes())
	}
	for _, e := range a.state.DLQ.Items {
		if e != nil {
			e.Counted = 0
			a.reweighEntry(e)
		}
	}
	for _, run := range a.state.RunList.Items {
		if run != nil {
			run.Weight = run.Size()
			a.addWork(run.Weight)
			if !a.needed(run) {
				a.release(run)
			}
		}
	}
	for _, e := range a.state.Log.Events {
		a.addObserved(e.Size())
		if e.Ends() {
			a.addObserved(state.MessageCost + int64(e.Message.Weight))
		}
		if e.EndsRun() {
			e.Run.EndSeq = e.Seq
		}
	}
}

// unweigh subtracts what the account has counted.
func (a *Account) unweigh() {
	was := a.counted
	a.addWork(-was.work)
	a.addMessage(-was.messages)
	a.addObserved(-was.observed)
}

// Observed is the size of this account's observations in bytes. It takes no
// lock, so that the largest of many accounts is found without stopping them.
func (a *Account) Observed() int64 { return a.observed.Load() }

// roomFor refuses requests that exceed the bounds of the ledger.
func (a *Account) roomFor(rs ...PublishRequest) error {
	ledger := a.cfg.Memory
	if a.replaying || ledger.MaxWork == 0 && ledger.MaxMessages == 0 {
		return nil
	}
	bytes, messages := int64(0), int64(0)
	for i := range rs {
		n := int64(1)
		if g := a.state.Groups[rs[i].Group]; g != nil {
			n = int64(len(g.Endpoints))
		}
		messages += n
		bytes += n*state.MessageCost + int64(len(rs[i].Body)) + rs[i].Header.Size() + state.HeaderBytes(rs[i].Forward)
	}
	held, waiting := ledger.Work()
	if ledger.MaxWork > 0 && held+bytes > ledger.MaxWork {
		held -= a.expiredMarks()
	}
	switch {
	case ledger.MaxMessages > 0 && waiting+messages > ledger.MaxMessages:
		return refusal.Of(ErrFull, "backlog", "", fmt.Sprintf("%d messages are not delivered yet, the limit is %d (--max-backlog): wait for deliveries, or cancel some", waiting, ledger.MaxMessages))
	case ledger.MaxWork > 0 && held+bytes > ledger.MaxWork:
		return refusal.Of(ErrFull, "backlog", "", fmt.Sprintf("messages not delivered yet, the DLQ and open workflow runs hold %d bytes, the limit is %d (--max-backlog): wait for deliveries, cancel messages or delete DLQ entries", held, ledger.MaxWork))
	}
	return nil
}

// roomForBytes refuses growth of stored data, such as vectors and URL groups,
// beyond the bounds of the ledger.
func (a *Account) roomForBytes(bytes int64) error {
	if held, _ := a.cfg.Memory.Work(); bytes > 0 && !a.replaying && a.cfg.Memory.MaxWork > 0 && held+bytes > a.cfg.Memory.MaxWork {
		return refusal.Of(ErrFull, "backlog", "", fmt.Sprintf("vectors, URL groups, messages, the DLQ and open workflow runs hold %d bytes, the limit is %d (--max-backlog): delete some", held, a.cfg.Memory.MaxWork))
	}
	return nil
}

// needed reports whether a run may still continue, by itself or from the DLQ.
func (a *Account) needed(run *Run) bool {
	return !run.Ended() || a.state.DLQ.Get(run.DLQID) != nil
}

// reweigh counts the growth of a run that is still needed.
func (a *Account) reweigh(run *Run) {
	if run == nil || !a.needed(run) {
		return
	}
	was := run.Weight
	run.Weight = run.Size()
	a.addWork(run.Weight - was)
}

// reweighItem counts an entry that was added to the step list of a run. Unlike reweigh, its
// cost does not grow with the list.
func (a *Account) reweighItem(run *Run, it *state.StepItem) {
	if !a.needed(run) {
		return
	}
	size := it.Size()
	run.Weight += size
	a.addWork(size)
}

// release counts a run that nothing needs any more as an observation, which may be dropped.
func (a *Account) release(run *Run) {
	a.addWork(-run.Weight)
	a.addObserved(run.Weight)
}

// reweighEntry counts a DLQ entry as it is now.
func (a *Account) reweighEntry(e *DLQEntry) {
	was := e.Counted
	e.Counted = e.Weight()
	a.addWork(e.Counted - was)
}

// dropDLQ removes an entry from the DLQ, and releases its run.
func (a *Account) dropDLQ(e *DLQEntry) {
	a.addWork(-e.Counted)
	a.state.DLQ.Remove(e.ID)
	if e.FailedRun != nil && e.FailedRun.DLQID == e.ID {
		a.release(e.FailedRun)
		if e.FailedRun.EndSeq < a.state.Log.Bare {
			a.strip(e.FailedRun)
		}
	}
}

// Forget drops observations of at least the given number of bytes, the oldest first: first the
// bodies and headers of ended messages, answers and runs, then whole events. It returns how
// many bytes it dropped, 0 when nothing is left to drop.
func (a *Account) Forget(bytes int64) int64 {
	return resultOnly(runCommand(a, forget{&forgotten{bytes: bytes}}))
}

// forget drops observations. How many depends on the counts of the process, so
// the record contains how far it went.
type forget struct{ Gone *forgotten }

// forgotten is written by apply in a live account and read by apply in a
// replay, because only the live process has the byte counts.
type forgotten struct {
	bytes int64  // to drop; 0 in replay, which uses the fields below
	Bare  uint64 // events below this sequence number have no bodies
	First uint64 // of the events that are left
	Runs  bool   // the runs that ended before these are gone as well
}

// apply drops the oldest bodies first, because they are large and the log stays readable
// without them; then the oldest quarter of the events and the ended runs. The record contains
// the bounds of what was dropped, so that a replay drops the same.
func (c forget) apply(a *Account) (int64, error) {
	before, l, to := a.counted.observed, &a.state.Log, c.Gone
	gone := func() int64 { return before - a.counted.observed }
	if to.bytes <= 0 {
		a.forgetTo(to)
		return gone(), nil
	}
	for i := l.Index(l.Bare); i < len(l.Events) && gone() < to.bytes; i++ {
		a.stripEvent(l.Events[i])
	}
	for left := true; left && gone() < to.bytes; {
		if left = len(l.Events) > 0; left {
			a.forget(min(len(l.Events), max(1024, len(l.Events)/4)))
		}
		a.forgetRuns()
		to.Runs = true
	}
	to.Bare, to.First = l.Bare, l.Issued-uint64(len(l.Events))+1
	return gone(), nil
}

// forgetTo drops, in a replay, what the live account dropped.
func (a *Account) forgetTo(to *forgotten) {
	l := &a.state.Log
	for i := l.Index(l.Bare); i < len(l.Events) && l.Events[i].Seq < to.Bare; i++ {
		a.stripEvent(l.Events[i])
	}
	if n := l.Index(to.First); n > 0 {
		a.forget(n)
	}
	if to.Runs {
		a.forgetRuns()
	}
}

// stripEvent drops the bodies and headers of an event. Messages that can still
// be delivered keep them.
func (a *Account) stripEvent(e *state.LogEntry) {
	a.touch(e)
	a.state.Log.Bare = max(a.state.Log.Bare, e.Seq+1)
	var was *Outcome
	if e.LogDetail != nil && e.Outcome.Size() > 0 {
		was = e.Outcome
		a.addObserved(-was.Size())
		outcome, detail := was.Bare(), *e.LogDetail // copies: readers may hold the old ones
		detail.Outcome, e.LogDetail = &outcome, &detail
	}
	if e.Ends() {
		a.stripMessage(e.Message, was, e)
	}
	if e.EndsRun() && !a.needed(e.Run) {
		a.strip(e.Run)
	}
}

// stripMessage drops the body and headers of a message that has ended. Its latest outcome was
// that of the event, or is another one.
func (a *Account) stripMessage(m *Message, was *Outcome, e *state.LogEntry) {
	a.touch(m)
	switch m.Last {
	case nil:
	case was:
		m.Last = e.Outcome
	default:
		last := m.Last.Bare()
		m.Last = &last
	}
	a.addObserved(-int64(m.Weight))
	m.Weight = 0
	if m.Size() > 0 {
		m.Dropped = int32(min(m.Size(), math.MaxInt32))
		m.Body, m.Headers, m.Options = nil, "", a.state.Options.Intern(m.Options.Bare())
	}
}

// strip drops the payloads and results of the steps of an ended run. It may
// change the entries of the list, which belong to the run alone, but not
// third-party calls, which a run that resumed it may share.
func (a *Account) strip(run *Run) {
	if run.Dropped > 0 {
		return
	}
	a.touch(run)
	carried := run.Size() // computed, not the counted weight, which may lag behind and differ in a replay
	run.Payload, run.Result, run.Calls, run.Early = nil, nil, nil, nil
	run.Header, run.Forward, run.Options = "", nil, a.state.Options.Intern(run.Options.Bare())
	for _, it := range run.Items {
		a.touch(it)
		it.Body = nil
		it.Step.Out, it.Step.CallBody, it.Step.CallResponseBody, it.Step.InvokedBody = "", "", "", ""
		it.Step.CallHeader, it.Step.CallResponseHeader, it.Step.InvokedHeader = nil, nil, nil
		it.Errors = slices.Clone(it.Errors) // a copy: a run that resumed this one shares them
		for i := range it.Errors {
			it.Errors[i].Body, it.Errors[i].Header = "", nil
		}
	}
	left := run.Size()
	run.Dropped = int(carried - left)
	a.addObserved(left - run.Weight)
	run.Weight = left
}

// forget drops the oldest n events.
func (a *Account) forget(n int) {
	for _, e := range a.state.Log.Events[:n] {
		a.stripEvent(e)
		a.addObserved(-e.Size())
		if e.Ends() {
			a.addObserved(-state.MessageCost)
		}
	}
	a.state.Log.Forget(n)
}

// forgetRuns drops the runs that ended before the first event of the log.
func (a *Account) forgetRuns() {
	begins := a.state.Log.Issued - uint64(len(a.state.Log.Events)) + 1
	for _, run := range slices.Clone(a.state.RunList.Items) {
		if run != nil && run.EndSeq < begins && !a.needed(run) {
			a.forgetRun(run)
		}
	}
}

// forgetRun drops an ended run and its id, so that a new run may have that id.
func (a *Account) forgetRun(run *Run) {
	a.addObserved(-run.Weight)
	a.state.RunList.Remove(run.ID)
	a.touch(run) // a snapshot copies whether it is still in the account
	delete(a.state.Runs, run.ID)
}
