package engine

import (
	"github.com/understudy-mock/understudy/engine/internal/state"
)

// header returns a header as it is shown.
func (a *Account) header(r *state.Redaction, h state.Header) state.Header {
	return r.Header(h, a.cfg.Wire.Carries)
}

// headerText is header for a header as text.
func (a *Account) headerText(r *state.Redaction, h state.HeaderText) state.HeaderText {
	if r == nil || h == "" {
		return h
	}
	return state.TextOf(a.header(r, h.Header()))
}

// showMessage returns a copy of the message as logs, lists and the DLQ show it. Delivery uses
// the original.
func (a *Account) showMessage(m *state.Message) state.Message {
	v := *m
	v.Slot, v.InFlight = nil, false
	if r := m.Redaction(a.state.Runs[m.RunID]); r != nil {
		v.Body = r.Content(m.Body)
		v.Headers = state.PairOf(a.headerText(r, m.Headers.Published()), a.headerText(r, m.Headers.Forward()))
	}
	return v
}

// showRun returns a copy of the run as lists show it, with the id of its DLQ entry only while the
// entry exists.
func (a *Account) showRun(r *state.Run) state.Run {
	v, h := *r, r.Options.Redact
	if a.state.DLQ.Get(v.DLQID) == nil {
		v.DLQID = ""
	}
	v.Payload, v.Result, v.Header, v.Forward = h.Content(v.Payload), h.Content(v.Result), a.headerText(h, v.Header), a.header(h, v.Forward)
	return v
}

// showItem returns the step of an entry of a run as logs show it.
func (a *Account) showItem(r *state.Run, it *state.StepItem) state.Step {
	s := a.showStep(r.Options.Redact.And(it.Redact), it.Step)
	s.MessageID, s.CallType = it.MessageID, it.CallType
	return s
}

// showStep returns a step as logs show it. The run that it invoked may redact its payload itself.
func (a *Account) showStep(h *state.Redaction, s state.Step) state.Step {
	if s.Invoked != nil {
		if invoked := a.state.Runs[s.Invoked.ID]; invoked != nil {
			h = h.And(invoked.Options.Redact)
		}
	}
	s.Out, s.CallBody, s.CallResponseBody, s.InvokedBody = h.Text(s.Out), h.Text(s.CallBody), h.Text(s.CallResponseBody), h.Text(s.InvokedBody)
	s.CallHeader, s.CallResponseHeader, s.InvokedHeader = a.header(h, s.CallHeader), a.header(h, s.CallResponseHeader), a.header(h, s.InvokedHeader)
	return s
}

// showWaiter returns a waiter as lists show it.
func (a *Account) showWaiter(w *state.PendingWait) state.Waiter {
	v, h := w.Waiter, w.Run.Options.Redact
	v.Header, v.TimeoutHeader, v.TimeoutBody = a.header(h, v.Header), a.header(h, v.TimeoutHeader), h.Content(v.TimeoutBody)
	return v
}

// showSchedule returns a schedule as lists show it.
func (a *Account) showSchedule(s *state.Schedule) state.Schedule {
	v, r, h := *s, s.Request, s.Request.Options.Redact
	r.Body, r.Header, r.Forward, r.All, r.Options.Forward = h.Content(r.Body), a.headerText(h, r.Header), a.header(h, r.Forward), a.header(h, r.All), a.header(h, r.Options.Forward)
	v.Request = r
	return v
}
