package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// The life of an attempt: waitUntil, due, (flow-control key), launch, start, attempt,
// postpone, settle, then retry, which leads back to waitUntil, or fail, and end.

// waitUntil lets a message rest until the given time.
func (a *Account) waitUntil(m *Message, at time.Time) {
	a.touch(m)
	m.NextAt = at
	if at.After(a.now) {
		a.timers.add(at, wakeMessage, m)
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
	a.ready.push(turn{message: m})
}

// launch starts as many ready attempts as may run. It follows each command, in
// replay as well, and is not recorded.
func (a *Account) launch() {
	for a.running < a.cfg.Parallel {
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
		a.move(m, Active, event{})
	}
	m.NextAt = time.Time{}
	a.running++
	a.shares.count(a.shares.of(m), 1)
	if a.replaying {
		m.cancel = func() {}
		return
	}
	ctx, cancel := context.WithCancel(a.ctx)
	m.cancel = cancel
	at := Attempt{
		Message:    *m,
		Number:     m.Retried,
		At:         a.now,
		SigningKey: a.current,
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
		_, _ = step(a, outcome{at.Message.ID, o}) // nothing refuses it
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

func (c outcome) apply(a *Account) (nothing, error) {
	m := a.messages[c.Message]
	if m == nil || m.cancel == nil {
		return nothing{}, refusal.Of(ErrInvalid, "message", c.Message, "no attempt is in flight")
	}
	a.touch(m)
	a.running--
	a.shares.count(a.shares.of(m), -1)
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
	if limit := m.Options.timeout(); o.After > limit {
		o = Outcome{Err: fmt.Sprintf("no answer within the timeout of %s", limit), After: limit}
	}
	m.cancel, m.last = nil, &o
	a.timers.add(a.now.Add(o.After), wakeOutcome, m)
}

// settle applies the outcome of an attempt: delivered, retry, or failed.
func (a *Account) settle(m *Message, o Outcome) {
	o.After, o.answer = 0, a.cfg.Wire.ReadAnswer(&o)
	m.cancel, m.last = nil, &o
	a.releaseFlow(m)
	m.answered(&o, a.now)
	run := a.runs[m.RunID]
	switch verdict, help := a.disproved(run, m, &o); {
	case o.ok() && verdict == "":
		a.move(m, Delivered, event{detail: &detail{out: &o}})
		a.report(m, &o)
		a.end(m)
	case m.canceled || m.Role.does().carriesSteps && run != nil && run.ended():
		if m.State == Active {
			a.move(m, CancelRequested, event{})
		}
		a.move(m, Canceled, event{})
		a.end(m)
	case verdict != "":
		m.step.failed(verdict, &o, a.now)
		o.Err = verdict + ": " + help
		a.move(m, Errored, event{detail: &detail{out: &o, err: o.Err}})
		a.fail(m, &o)
	default:
		a.move(m, Errored, event{detail: &detail{out: &o, err: failureText(&o)}})
		if !m.Role.does().callsOut { // its run learns of the last attempt only
			a.report(m, &o)
		}
		if m.Retried >= m.MaxRetries || o.answer.Final {
			a.fail(m, &o)
		} else {
			a.retry(m, &o)
		}
	}
	a.reweigh(run)
}

// minWait is the minimum interval between two attempts of a message, in which
// the server does something else.
const minWait = time.Millisecond

// retry books the next attempt.
func (a *Account) retry(m *Message, o *Outcome) {
	wait, rule := a.retryWait(m, o)
	wait = max(wait, minWait)
	m.Retried++
	at := a.now.Add(wait)
	m.last = o.brief()
	a.move(m, Retry, event{next: at.UnixMilli(), detail: &detail{rule: rule}})
	a.failed(FailedAttempt{Message: m, Outcome: o, NextAt: at, Wait: wait})
	a.waitUntil(m, at)
}

// fail ends a message for good. A message of its own goes to the DLQ and its
// failureText callback out; a call to a workflow endpoint takes its run there; a
// third-party call is the business of the run that made it.
func (a *Account) fail(m *Message, o *Outcome) {
	d := &detail{out: o, err: failureText(o)}
	switch {
	case m.decidesRun():
		a.move(m, Failed, event{detail: d})
	case m.Role.does().callsOut:
		a.move(m, Failed, event{detail: d})
		a.failed(FailedAttempt{Message: m, Outcome: o})
		if cb := m.Options.Callback; cb != nil {
			r := a.newReport(m, o, "")
			r.Source.MaxRetries = m.Retried // clients ignore the answer of a call that has retries left
			a.callback(RoleCallback, m, cb, r)
		}
	default:
		entry := a.deadLetter(m, o)
		d.dlqID = entry.ID
		a.move(m, Failed, event{detail: d})
		a.failed(FailedAttempt{Message: m, Outcome: o, DLQID: entry.ID})
		a.reportFailure(entry, m, o)
	}
	a.end(m)
}

// end takes a message that reached its last state out of the account, tells
// whoever depends on it, and gives up its turn in a queue.
func (a *Account) end(m *Message) {
	delete(a.messages, m.ID)
	a.addMessage(-1)
	a.addWork(-messageCost - int64(m.weight))
	if m.step != nil && m.step.ended != Failed {
		m.step.ended = m.State
	}
	switch {
	case m.Role.does().reportsFailed:
		a.failureReported(m)
	case m.decidesRun():
		a.stepEnded(m)
	}
	if m.last != nil {
		m.last = m.last.brief() // the log has the whole
	}
	a.leave(m)
}
