package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// An attempt passes through these functions: waitUntil, due, (hold, take: flow
// control), launch, start, attempt, postpone, settle. Then come retry, which
// continues at waitUntil, or fail, and end.

// waitUntil makes a message wait until the given time.
func (a *Account) waitUntil(m *Message, at time.Time) {
	a.touch(m)
	m.NextAt = state.TimestampOf(at)
	if at.After(a.state.Now) {
		a.state.Timers.Add(at, state.WakeMessage, m)
		return
	}
	a.due(m)
}

// due is called when a message waits for nothing but flow control.
func (a *Account) due(m *Message) {
	if m.Options.Flow != nil {
		a.hold(m)
		return
	}
	a.state.Ready.Push(state.ReadyTurn{Message: m})
}

// launch starts as many ready attempts as may run. It runs after each command,
// also in replay, and therefore needs no record of its own.
func (a *Account) launch() {
	for a.state.Running < a.cfg.Parallel {
		t, ok := a.nextTurn()
		if !ok {
			return
		}
		if m := a.take(t); m != nil {
			a.start(m)
		}
	}
}

// start begins an attempt: in the goroutine of one that has just ended, else in a
// goroutine of its own, but in none in replay, where the journal has the outcome.
func (a *Account) start(m *Message) {
	a.touch(m)
	if m.State != Active { // otherwise the attempt is repeated after a restart, and has been logged
		a.move(m, Active, state.LogEntry{})
	}
	m.NextAt = 0
	a.state.Running++
	a.state.Shares.Count(a.state.Shares.Of(m), 1)
	m.InFlight = true
	if a.replaying {
		return
	}
	f := newFlight()
	if a.cancels == nil {
		a.cancels = map[*Message]context.CancelFunc{}
	}
	a.cancels[m] = f.cancel
	f.Attempt = Attempt{Message: *m, Number: int(m.Retried), At: a.state.Now, SigningKey: a.state.CurrentKey, Redact: m.Redaction(a.state.Runs[m.RunID])}
	f.Body, f.Steps = a.payloadOf(m)
	f.lsn, f.replaced = a.lsn, a.replaced
	a.attempts++
	a.wg.Add(1)
	if a.ending && a.next == nil {
		a.next = f
		return
	}
	go a.attemptAll(f)
}

// flight is an attempt in progress. Later attempts use its memory again, and its context
// unless that was cancelled. The context has no parent, which would keep it: Close cancels
// all that are in progress.
type flight struct {
	Attempt
	ctx      context.Context
	cancel   context.CancelFunc
	lsn      uint64 // of the record that caused it, which must be durable first
	replaced int    // Account.replaced then: another value means that its message is gone
}

var flightPool = sync.Pool{New: func() any { return &flight{} }}

// newFlight returns a flight whose context is not cancelled.
func newFlight() *flight {
	f := flightPool.Get().(*flight)
	if f.ctx == nil || f.ctx.Err() != nil {
		f.ctx, f.cancel = context.WithCancel(context.Background()) //nolint:gosec // has no parent that keeps it
	}
	return f
}

// free lets another attempt use the flight. Nothing may cancel it any more.
func (f *flight) free() {
	f.Attempt = Attempt{}
	flightPool.Put(f)
}

// attemptAll is the body of the goroutine: while attempts wait for their turn, it
// continues with the first that may start when its own has ended. Its stack has grown
// by then, and no other goroutine needs to be scheduled.
func (a *Account) attemptAll(f *flight) {
	growStack()
	for f != nil {
		f = a.attempt(f)
	}
}

// growStack lets the stack of a goroutine grow once, while it is empty: an attempt
// needs about as much, and would copy its stack three times.
//
//go:noinline
func growStack() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}

// attempt delivers with no lock held, once the record that caused it is durable, then
// settles. It gives the attempt to continue with, nil for none.
func (a *Account) attempt(f *flight) (next *flight) {
	defer a.wg.Done()
	var o Outcome
	if err := a.durable(f.ctx, f.lsn); err != nil {
		o = Outcome{Err: err.Error()}
	} else {
		o = a.deliver(f.ctx, f.Attempt)
	}
	a.lock()
	defer a.unlock()
	switch {
	case a.closed:
		a.note(slog.LevelWarn, "attempt ended by shutdown", "message", f.Message.ID, "url", f.Message.URL, "attempt", f.Number+1, "outcome", o.Err)
	case a.replaced == f.replaced: // otherwise a Reset or Restore has removed the message
		a.ending = true
		_, _ = applyCommand(a, outcome{f.Message.ID, o}) // cannot fail: the attempt is in flight
		next, a.ending, a.next = a.next, false, nil
		f.free()
	}
	return next
}

// deliver makes the attempt. A panic in Config.Deliver counts as a failed
// attempt, and does not end the process.
func (a *Account) deliver(ctx context.Context, at Attempt) (o Outcome) {
	defer func() {
		if r := recover(); r != nil {
			a.cfg.Log.Error("deliverer panicked", "message", at.Message.ID, "panic", r)
			o = Outcome{Err: fmt.Sprintf("internal fault while delivering: %v", r)}
		}
	}()
	return a.cfg.Deliver(ctx, at)
}

// outcome ends an attempt.
type outcome struct {
	Message string // id
	Outcome Outcome
}

// apply refuses an outcome for which no attempt is in flight. A live account
// never submits one, but the records of a damaged journal may.
func (c outcome) apply(a *Account) (nothing, error) {
	m := a.state.Messages[c.Message]
	if m == nil || !m.InFlight {
		return nothing{}, refusal.Of(ErrInvalid, "message", c.Message, "no attempt is in flight")
	}
	a.touch(m)
	m.InFlight = false
	delete(a.cancels, m)
	a.state.Running--
	a.state.Shares.Count(a.state.Shares.Of(m), -1)
	if c.Outcome.After > 0 && m.State == Active {
		a.postpone(m, c.Outcome)
	} else {
		a.settle(m, c.Outcome)
	}
	return nothing{}, nil
}

// postpone delays the outcome of a stub by the delay of the stub, on the
// account's clock, or by the timeout of the message if that is shorter.
func (a *Account) postpone(m *Message, o Outcome) {
	if limit := m.Options.EffectiveTimeout(); o.After > limit {
		o = Outcome{Err: fmt.Sprintf("no answer within the timeout of %s", limit), After: limit}
	}
	a.touch(m)
	m.Last = &o
	a.state.Timers.Add(a.state.Now.Add(o.After), state.WakeOutcome, m)
}

// answered is an outcome and what its event says of it, in one piece of memory: they
// live equally long. The event itself stays when they are forgotten.
type answered struct {
	outcome Outcome
	detail  state.LogDetail
}

// log moves the message of the outcome to its next state.
func (e *answered) log(a *Account, m *Message, to MessageState, failure string) {
	e.detail = state.LogDetail{Outcome: &e.outcome, Error: failure}
	a.move(m, to, state.LogEntry{LogDetail: &e.detail})
}

// settle applies the outcome of an attempt: delivered, retry, or failed.
func (a *Account) settle(m *Message, as Outcome) {
	e := &answered{outcome: as}
	o := &e.outcome
	o.After, o.Answer = 0, a.cfg.Wire.ReadAnswer(o)
	a.state.Headers.Share(&o.Header)
	a.touch(m)
	m.Last = o
	a.releaseFlow(m)
	m.Answered(o, a.state.Now)
	run := a.state.Runs[m.RunID]
	switch verdict, help := a.disproved(run, m, o); {
	case o.OK() && verdict == "":
		e.log(a, m, Delivered, "")
		a.report(m, o)
		a.end(m)
	case m.Canceled || m.Role.Conduct().CarriesSteps && run != nil && run.Ended():
		if m.State == Active {
			a.move(m, CancelRequested, state.LogEntry{})
		}
		a.move(m, Canceled, state.LogEntry{})
		a.end(m)
	case verdict != "":
		m.Step.Failed(verdict, o, a.state.Now)
		o.Err = verdict + ": " + help
		e.log(a, m, Errored, o.Err)
		a.fail(m, o)
	default:
		e.log(a, m, Errored, state.FailureText(o))
		if !m.Role.Conduct().CallsOut { // for a third-party call, the run receives only the last attempt
			a.report(m, o)
		}
		if m.Retried >= m.MaxRetries || o.Answer.Final {
			a.fail(m, o)
		} else {
			a.retry(m, o)
		}
	}
	if !o.OK() || m.Role.Conduct().CallsOut { // otherwise the entry that it carried is as large as before
		a.reweigh(run)
	}
}

// fail ends a message after its last attempt. A plain message goes to the DLQ,
// and its failure callback is sent. A call to a workflow endpoint puts its run
// into the DLQ. A third-party call reports to the run that made it.
func (a *Account) fail(m *Message, o *Outcome) {
	d := &state.LogDetail{Outcome: o, Error: state.FailureText(o)}
	switch {
	case m.DecidesRun():
		a.move(m, Failed, state.LogEntry{LogDetail: d})
	case m.Role.Conduct().CallsOut:
		a.move(m, Failed, state.LogEntry{LogDetail: d})
		a.failed(FailedAttempt{Message: m, Outcome: o})
		if cb := m.Options.Callback; cb != nil {
			r := a.newReport(m, o, "")
			r.Source.MaxRetries = m.Retried // clients ignore a call result that has retries left
			a.callback(RoleCallback, m, cb, r)
		}
	default:
		entry := a.deadLetter(m, o)
		d.DLQID = entry.ID
		a.move(m, Failed, state.LogEntry{LogDetail: d})
		a.failed(FailedAttempt{Message: m, Outcome: o, DLQID: entry.ID})
		a.reportFailure(entry, m, o)
	}
	a.end(m)
}

// end removes a message that reached a final state, notifies what depends on
// it, and releases its turn in a queue.
func (a *Account) end(m *Message) {
	delete(a.state.Messages, m.ID)
	a.leaveFamily(m)
	a.addMessage(-1)
	a.addWork(-state.MessageCost - int64(m.Weight))
	a.touch(m)
	if m.Step != nil && m.Step.Ended != Failed {
		m.Step.Ended = m.State
	}
	switch {
	case m.Role.Conduct().ReportsFailed:
		a.failureReported(m)
	case m.DecidesRun():
		a.stepEnded(m)
	}
	if m.Last != nil {
		m.Last = m.Last.Brief() // the log has the complete outcome
	}
	a.leave(m)
}
