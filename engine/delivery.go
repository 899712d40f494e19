package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// The life of an attempt: waitUntil, due, (flow-control key), launch, start, attempt,
// postpone, settle, then retry, which leads back to waitUntil, or fail, and end.

// waitUntil lets a message rest until the given time.
func (a *Account) waitUntil(m *Message, at time.Time) {
	a.touch(m)
	m.NextAt = at
	if at.After(a.state.Now) {
		a.state.Timers.Add(at, state.WakeMessage, m)
		return
	}
	a.due(m)
}

// due is called when nothing but flow control stands between a message and
// its next attempt.
func (a *Account) due(m *Message) {
	if m.Options.Flow != nil {
		a.hold(m)
		return
	}
	a.state.Ready.Push(state.ReadyTurn{Message: m})
}

// launch starts as many ready attempts as may run. It follows each command, in
// replay as well, and is not recorded.
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

// start begins an attempt: in a goroutine of its own, but none in replay, where the
// journal has the outcome.
func (a *Account) start(m *Message) {
	a.touch(m)
	if m.State != Active { // else it was in flight before
		a.move(m, Active, state.LogEntry{})
	}
	m.NextAt = time.Time{}
	a.state.Running++
	a.state.Shares.Count(a.state.Shares.Of(m), 1)
	if a.replaying {
		m.Cancel = func() {}
		return
	}
	ctx, cancel := context.WithCancel(a.ctx)
	m.Cancel = cancel
	at := Attempt{
		Message:    *m,
		Number:     m.Retried,
		At:         a.state.Now,
		SigningKey: a.state.CurrentKey,
	}
	at.Body, at.Steps = a.payloadOf(m)
	a.attempts++
	a.wg.Add(1)
	go a.attempt(ctx, cancel, at, launched{a.lsn, a.replaced})
}

// launched is when an attempt began.
type launched struct {
	lsn      uint64 // the record that it follows from
	replaced int    // in which state
}

// attempt is the body of the goroutine: it delivers with no lock held, once the
// record that caused it is durable, then settles.
func (a *Account) attempt(ctx context.Context, cancel context.CancelFunc, at Attempt, from launched) {
	defer a.wg.Done()
	defer cancel()
	var o Outcome
	if err := a.durable(ctx, from.lsn); err != nil {
		o = Outcome{Err: err.Error()}
	} else {
		o = a.deliver(ctx, at)
	}
	a.lock()
	defer a.unlock()
	switch {
	case a.closed:
		a.note(slog.LevelWarn, "attempt ended by shutdown", "message", at.Message.ID, "url", at.Message.URL, "attempt", at.Number+1, "outcome", o.Err)
	case a.replaced == from.replaced: // else it was forgotten by a Reset meanwhile
		_, _ = applyCommand(a, outcome{at.Message.ID, o}) // nothing refuses it
	}
}

// deliver makes the attempt; a panic there is a failed attempt, not the end.
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

// apply refuses an outcome for which no attempt is in flight. An account that is live gives
// none; the records of a journal may be put together wrongly.
func (c outcome) apply(a *Account) (nothing, error) {
	m := a.state.Messages[c.Message]
	if m == nil || m.Cancel == nil {
		return nothing{}, refusal.Of(ErrInvalid, "message", c.Message, "no attempt is in flight")
	}
	a.touch(m)
	a.state.Running--
	a.state.Shares.Count(a.state.Shares.Of(m), -1)
	if c.Outcome.After > 0 && m.State == Active {
		a.postpone(m, c.Outcome)
	} else {
		a.settle(m, c.Outcome)
	}
	return nothing{}, nil
}

// postpone lets the outcome of a stub take effect when the time that it claims
// has passed on the clock, or the message's timeout.
func (a *Account) postpone(m *Message, o Outcome) {
	if limit := m.Options.EffectiveTimeout(); o.After > limit {
		o = Outcome{Err: fmt.Sprintf("no answer within the timeout of %s", limit), After: limit}
	}
	m.Cancel, m.Last = nil, &o
	a.state.Timers.Add(a.state.Now.Add(o.After), state.WakeOutcome, m)
}

// settle applies the outcome of an attempt: delivered, retry, or failed.
func (a *Account) settle(m *Message, o Outcome) {
	o.After, o.Answer = 0, a.cfg.Wire.ReadAnswer(&o)
	m.Cancel, m.Last = nil, &o
	a.releaseFlow(m)
	m.Answered(&o, a.state.Now)
	run := a.state.Runs[m.RunID]
	switch verdict, help := a.disproved(run, m, &o); {
	case o.OK() && verdict == "":
		a.move(m, Delivered, state.LogEntry{LogDetail: &state.LogDetail{Outcome: &o}})
		a.report(m, &o)
		a.end(m)
	case m.Canceled || m.Role.Conduct().CarriesSteps && run != nil && run.Ended():
		if m.State == Active {
			a.move(m, CancelRequested, state.LogEntry{})
		}
		a.move(m, Canceled, state.LogEntry{})
		a.end(m)
	case verdict != "":
		m.Step.Failed(verdict, &o, a.state.Now)
		o.Err = verdict + ": " + help
		a.move(m, Errored, state.LogEntry{LogDetail: &state.LogDetail{Outcome: &o, Error: o.Err}})
		a.fail(m, &o)
	default:
		a.move(m, Errored, state.LogEntry{LogDetail: &state.LogDetail{Outcome: &o, Error: state.FailureText(&o)}})
		if !m.Role.Conduct().CallsOut { // its run learns of the last attempt only
			a.report(m, &o)
		}
		if m.Retried >= m.MaxRetries || o.Answer.Final {
			a.fail(m, &o)
		} else {
			a.retry(m, &o)
		}
	}
	a.reweigh(run)
}

// fail ends a message for good. A message of its own goes to the DLQ and its
// failure callback out; a call to a workflow endpoint takes its run there; a
// third-party call is the business of the run that made it.
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
			r.Source.MaxRetries = m.Retried // clients ignore the answer of a call that has retries left
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

// end takes a message that reached its last state out of the account, tells
// whoever depends on it, and gives up its turn in a queue.
func (a *Account) end(m *Message) {
	delete(a.state.Messages, m.ID)
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
		m.Last = m.Last.Brief() // the log has the whole
	}
	a.leave(m)
}
