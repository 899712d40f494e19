package engine

import "github.com/understudy-mock/understudy/engine/internal/state"

// report sends the callback for an attempt that got a response, if the message has one.
func (a *Account) report(m *Message, o *Outcome) {
	if cb := m.Options.Callback; cb != nil && cb.URL != "" && o.Status != 0 {
		a.callback(RoleCallback, m, cb, a.newReport(m, o, ""))
	}
}

// reportFailure sends the failure callback of a message that failed permanently.
func (a *Account) reportFailure(e *DLQEntry, m *Message, o *Outcome) {
	cb := m.Options.FailureCallback
	if cb == nil || cb.URL == "" {
		return
	}
	sent := a.callback(RoleFailureCallback, m, cb, a.newReport(m, o, e.ID))
	a.touch(e)
	e.Callback = &CallbackInfo{MessageID: sent.ID, State: CallbackInProgress, RequestHeader: sent.Headers.Forward().Header()}
	a.state.Reports[sent.ID] = e.ID
}

// newReport copies the current state of the source. A failed run reports the
// payload of its trigger, not the step list of its last call.
func (a *Account) newReport(m *Message, o *Outcome, dlqID string) *Report {
	r := &Report{Source: *m, Outcome: o, DLQID: dlqID}
	if run := a.state.Runs[m.RunID]; run != nil {
		r.Run = run.Ref()
		if dlqID != "" {
			r.Source.Body = run.Payload
		}
	}
	return r
}

// callback creates the message that carries a report. In a queue it shares the
// turn of its source, so that the next message waits for the callback too.
func (a *Account) callback(role Role, source *Message, cb *Callback, r *Report) *Message {
	body := a.cfg.Wire.CallbackBody(r)
	if dialect := source.Options.Dialect; dialect != "" && a.cfg.InDialect != nil {
		body = a.cfg.InDialect(dialect, body)
	}
	from, retries := *source.Options, int(source.MaxRetries)
	from.Retries = &retries // also the default, because within a run the default is that of the run
	opts := cb.Options.Following(state.CallbackFollower, &from)
	if source.Slot != nil {
		a.touch(source)
		source.Slot.Open++
	}
	forward := opts.Forward
	var step *state.StepItem
	if run := a.state.Runs[source.RunID]; run != nil {
		opts, forward = a.runReport(run, role, opts)
		if role.Conduct().BringsAnswer {
			step = &state.StepItem{CallType: "fromCallback", Step: a.cfg.Wire.ReadStep(opts.Forward)}
		}
	}
	return a.create(Message{
		URL:     cb.URL,
		Headers: a.state.Headers.Pair(state.TextOf(state.MergeHeader(opts.Forward, jsonHeader)), jsonHeader, forward),
		Step:    step,
		Body:    body,
		Options: &opts,
		Slot:    source.Slot,
	}, state.Origin{Role: role, CallerIP: source.CallerIP, SourceID: source.ID, RunID: source.RunID, ScheduleID: source.ScheduleID})
}

var jsonHeader = Header{"Content-Type": {"application/json"}}

// failureReported records the end of a failure callback in the DLQ entry that
// it reports, if that is still there.
func (a *Account) failureReported(m *Message) {
	id := a.state.Reports[m.ID]
	delete(a.state.Reports, m.ID)
	e := a.state.DLQ.Get(id)
	if e == nil || e.Callback == nil || e.Callback.MessageID != m.ID {
		return
	}
	info := *e.Callback // readers may hold the old value
	info.EndedAt = a.state.Now
	if m.Last != nil {
		info.Status, info.Body, info.Header = m.Last.Status, m.Last.Body, m.Last.Header
	}
	switch m.State {
	case Delivered:
		info.State = CallbackSuccess
	case Canceled:
		info.State = CallbackCanceled
	default:
		info.State = CallbackFail
	}
	a.touch(e)
	e.Callback = &info
}
