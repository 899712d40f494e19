package engine

import (
	"fmt"
	"net/textproto"
	"strings"
	"time"
)

// statusNonRetryable, with its header set to true, ends a message at once
// (wire.md, "Retries").
const statusNonRetryable = 489

var nonRetryableHeader = textproto.CanonicalMIMEHeaderKey("Svc-NonRetryable-Error")

// settle applies the outcome of an attempt: delivered, retry, or failed.
func (a *Account) settle(m *Message, o Outcome) {
	o.After = 0
	m.cancel, m.last = nil, &o
	a.releaseFlow(m)
	m.answered(&o, a.now)
	run := a.runs[m.RunID]
	switch verdict, help := a.disproved(run, m, &o); {
	case o.OK() && verdict == "":
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
		a.move(m, Errored, event{detail: &detail{out: &o, err: failure(&o)}})
		if !m.Role.does().callsOut { // its run learns of the last attempt only
			a.report(m, &o)
		}
		if m.Retried >= m.MaxRetries || final(&o) {
			a.fail(m, &o)
		} else {
			a.retry(m, &o)
		}
	}
	a.reweigh(run)
}

// final reports whether the destination asked for no further attempt.
func final(o *Outcome) bool {
	v := o.Header[nonRetryableHeader]
	return o.Status == statusNonRetryable && len(v) > 0 && strings.EqualFold(v[0], "true")
}

// failure is the error text of a failed attempt.
func failure(o *Outcome) string {
	if o.Err != "" {
		return o.Err
	}
	text := fmt.Sprintf("destination answered status %d", o.Status)
	if o.Note != "" {
		text += "; " + o.Note
	}
	return text
}

// minWait is the minimum interval between two attempts of a message, in which
// the server does something else.
const minWait = time.Millisecond

// FailedAttempt is what follows from an attempt that failed: another one at NextAt, or
// none.
type FailedAttempt struct {
	Message *Message // as it stood then
	Outcome *Outcome
	NextAt  time.Time     // zero: no attempt is left
	Wait    time.Duration // until then
	DLQID   string        // where the message or the run is now
	Run     *RunRef       // that has failed with the message
}

func (a *Account) failed(f FailedAttempt) {
	if a.cfg.Failed != nil {
		m := *f.Message
		f.Message = &m
		a.later(func() { a.cfg.Failed(f) })
	}
}

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
// failure callback out; a call to a workflow endpoint takes its run there; a
// third-party call is the business of the run that made it.
func (a *Account) fail(m *Message, o *Outcome) {
	d := &detail{out: o, err: failure(o)}
	switch {
	case m.decidesRun():
		a.move(m, Failed, event{detail: d})
	case m.Role.does().callsOut:
		a.move(m, Failed, event{detail: d})
		a.failed(FailedAttempt{Message: m, Outcome: o})
		if cb := m.Options.Callback; cb != nil {
			r := a.newReport(m, o, "")
			r.MaxRetries = m.Retried // clients ignore the answer of a call that has retries left
			a.callback(RoleCallback, m, cb, r)
		}
	default:
		entry := a.bury(m, o)
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

// Message is a message that has not ended yet. A delivered one is gone.
func (a *Account) Message(id string) (Message, error) {
	a.lock()
	defer a.unlock()
	m := a.messages[id]
	if m == nil {
		return Message{}, unknownMessage(id)
	}
	return *m, nil
}

func unknownMessage(id string) error {
	return fmt.Errorf("message %q: not found; it may have been delivered, cancelled or moved to the DLQ: %w", id, ErrNotFound)
}

// Cancel stops a message: at once when it waits, else when its attempt ends.
func (a *Account) Cancel(id string) error {
	a.lock()
	defer a.unlock()
	m := a.messages[id]
	if m == nil {
		return unknownMessage(id)
	}
	a.cancel(m)
	return nil
}

// CancelMessages cancels what matches and says how many that were.
func (a *Account) CancelMessages(f Filter) (int, error) {
	a.lock()
	defer a.unlock()
	if err := f.check(); err != nil {
		return 0, err
	}
	n := 0
	for _, m := range sortedMessages(a.messages) {
		if n == f.limit(maxBulk) {
			break
		}
		if m.State != CancelRequested && m.RunID == "" && f.message(m, m.CreatedAt) {
			a.cancel(m)
			n++
		}
	}
	return n, nil
}

// cancel asks a message to stop.
func (a *Account) cancel(m *Message) {
	if m.State == CancelRequested {
		return
	}
	inFlight, active, held := m.cancel != nil, m.State == Active, m.timer.place == 0
	a.move(m, CancelRequested, event{})
	m.canceled = true
	switch {
	case inFlight:
		m.cancel()
		return
	case active: // a stub's outcome is on its way, or a snapshot cut the attempt off
		a.releaseFlow(m)
	case held && m.Options.Flow != nil && !(m.Options.Queue != "" && m.queue == nil):
		a.unhold(m)
	}
	a.timers.remove(m)
	a.move(m, Canceled, event{})
	a.end(m)
}
