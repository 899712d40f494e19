package engine

import (
	"context"
	"fmt"
	"log/slog"
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
		t, u, ok := a.nextTurn()
		if !ok {
			return
		}
		if m := a.take(t); m != nil {
			a.start(m, u)
		}
	}
}

// start begins an attempt, but not in replay, where the journal has the outcome.
func (a *Account) start(m *Message, u *state.Share) {
	a.touch(m)
	if m.State != Active { // otherwise the attempt is repeated after a restart, and has been logged
		a.move(m, Active, state.LogEntry{})
	}
	m.NextAt = 0
	a.state.Running++
	a.state.Shares.Count(u, 1)
	m.InFlight = true
	if a.replaying {
		return
	}
	at := Attempt{Message: *m, Number: int(m.Retried), At: a.state.Now, SigningKey: a.state.CurrentKey, Redact: m.Redaction(a.state.Runs[m.RunID])}
	at.Body, at.Steps = a.payloadOf(m)
	ctx, cancel := context.WithCancel(context.Background()) // without a parent, which would keep it: Close cancels all that are in progress
	a.cancels[m] = cancel
	a.attempts++
	a.wg.Add(1)
	go a.attempt(ctx, at, a.lsn, a.replaced)
}

// Attempt is one delivery call of a message. It is a value: the data that it
// refers to does not change while the attempt runs.
type Attempt struct {
	Message    Message     // what is delivered, as it was when the attempt began
	Number     int         // attempts made before this one, the value of Svc-Retried
	At         time.Time   // when it began, on the account's clock
	SigningKey string      // the key that signs it, current when it began
	Body       []byte      // the request body; nil when Steps are sent
	Steps      []StepEntry // the step list of a call to a workflow endpoint
	Redact     *Redaction  // of what it sends, where that is shown; nil for nothing
}

// attempt delivers with no lock held, once the record that caused it is durable, then settles.
// replaced is Account.replaced when it began: another value means that its message is gone.
func (a *Account) attempt(ctx context.Context, at Attempt, lsn uint64, replaced int) {
	defer a.wg.Done()
	growStack()
	var o Outcome
	if err := a.durable(ctx, lsn); err != nil {
		o = Outcome{Err: err.Error()}
	} else {
		o = a.deliver(ctx, at)
	}
	a.lock()
	defer a.unlock()
	switch {
	case a.closed:
		a.note(slog.LevelWarn, "attempt ended by shutdown", "message", at.Message.ID, "url", at.Message.URL, "attempt", at.Number+1, "outcome", o.Err)
	case a.replaced == replaced: // otherwise a Reset or Restore has removed the message
		_ = applyDeed(a, outcome{at.Message.ID, o}) // cannot fail: the attempt is in flight
	}
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
func (c outcome) apply(a *Account) error {
	m := a.state.Messages[c.Message]
	if m == nil || !m.InFlight {
		return refusal.Of(ErrInvalid, "message", c.Message, "no attempt is in flight")
	}
	a.touch(m)
	m.InFlight = false
	delete(a.cancels, m)
	a.state.Running--
	a.state.Shares.Count(a.state.Shares.Of(m.URL), -1)
	switch {
	case c.Outcome.Behind && m.State == Active && !m.Canceled:
		a.releaseFlow(m)
		a.due(m)
	case c.Outcome.After > 0 && m.State == Active:
		a.postpone(m, c.Outcome)
	default:
		a.settle(m, &c.Outcome)
	}
	return nil
}

// postpone delays the outcome of a stub by the delay of the stub, on the
// account's clock, or by the timeout of the message if that is shorter.
func (a *Account) postpone(m *Message, o Outcome) {
	o = o.Within(m.Options.EffectiveTimeout())
	a.touch(m)
	m.Last = &o
	a.state.Timers.Add(a.state.Now.Add(o.After), state.WakeOutcome, m)
}

// settle applies the outcome of an attempt: delivered, retry, or failed.
func (a *Account) settle(m *Message, o *Outcome) {
	o.After, o.Answer = 0, a.cfg.Wire.ReadAnswer(o)
	a.state.Headers.Intern(&o.Header)
	a.touch(m)
	m.Last = o
	a.releaseFlow(m)
	m.Answered(o, a.state.Now)
	run := a.state.Runs[m.RunID]
	switch verdict, help := a.disproved(run, m, o); {
	case o.OK() && verdict == "":
		a.move(m, Delivered, state.LogEntry{LogDetail: &state.LogDetail{Outcome: o}})
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
		a.move(m, Errored, state.LogEntry{LogDetail: &state.LogDetail{Outcome: o, Error: o.Err}})
		a.fail(m, o)
	default:
		a.move(m, Errored, state.LogEntry{LogDetail: &state.LogDetail{Outcome: o, Error: state.FailureText(o)}})
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
		entry := a.deadLetterAs("", m, o)
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
	a.touch(m)
	delete(a.state.Messages, m.ID)
	a.leaveFamily(m)
	a.addMessage(-1)
	a.addWork(-state.MessageCost - int64(m.Weight))
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
