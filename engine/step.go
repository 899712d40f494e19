package engine

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// acceptableStep refuses steps of an unknown or ended run. Clients interpret
// exactly this refusal as the end of the run.
func (a *Account) acceptableStep(c *accepted) (err error) {
	w := c.Options.Workflow
	starts := c.Trigger || w != nil && w.Init != nil && *w.Init
	switch {
	case w == nil || w.RunID == "" && !starts || c.Trigger:
		return nil
	case starts:
		return a.acceptableInvoke(c)
	}
	if c.run, err = a.openRun(w.RunID, w.CreatedAt); err != nil || w.CallType == "toCallback" {
		return err
	}
	step, err := a.cfg.Wire.ParseStep(c.Body)
	if err != nil {
		return &unreadableStep{c.run, err}
	}
	c.item = &state.StepItem{Body: c.Body, CallType: cmp.Or(w.CallType, "step"), Step: step, Redact: c.Options.Redact}
	return nil
}

// unreadableStep is the refusal of an invalid step, without which its run cannot continue.
type unreadableStep struct {
	run *Run
	error
}

// Unwrap returns what is wrong with the step.
func (e *unreadableStep) Unwrap() error { return e.error }

// changesState reports whether a command has changed the state although it returned an error.
func changesState(err error) bool {
	_, failed := errors.AsType[*unreadableStep](err)
	return failed
}

// failUnreadable fails the run of an invalid step: its endpoint interprets the
// refusal as the end of the run, and submits nothing more.
func (a *Account) failUnreadable(err error) {
	var refused *unreadableStep
	if !errors.As(err, &refused) {
		return
	}
	run := refused.run
	last := run.Items[len(run.Items)-1]
	now := state.TimestampOf(a.state.Now)
	m := &Message{ID: last.MessageID, State: Failed, URL: run.URL, Options: run.Options, MaxRetries: int32(run.Options.EffectiveRetries()), CreatedAt: now, NotBefore: now, Step: last,
		Origin: &state.Origin{Role: RoleStep, Method: "POST", CallerIP: run.CallerIP, RunID: run.ID}}
	o := &Outcome{Err: "the endpoint submitted a step that cannot be read: " + refused.Error()}
	a.touch(last)
	last.Ended = Failed
	last.Failed(o.Err, o, a.state.Now)
	a.append(&state.LogEntry{State: string(Errored), Message: m, Run: run, LogDetail: &state.LogDetail{Error: o.Err, Outcome: o}})
	a.failRun(run, m, o)
}

// openRun finds a run that has not ended.
func (a *Account) openRun(id string, createdAt time.Time) (*Run, error) {
	run := a.state.Runs[id]
	switch {
	case run == nil:
		return nil, refusal.Of(ErrEnded, "workflow run", id, "not found; it takes no step")
	case run.Ended() || !createdAt.IsZero() && !createdAt.Equal(run.CreatedAt):
		return nil, refusal.Of(ErrEnded, "workflow run", id, "has ended with "+string(run.State)+"; it takes no step")
	}
	return run, nil
}

// submit appends a step that the endpoint reports, and calls the endpoint with the new list.
func (a *Account) submit(c *accepted) Receipt {
	run := c.run
	it := c.item
	if call := run.Calls[it.Step.ID]; it.Step.Type == "Call" && it.Step.TargetStep == 0 && call != nil {
		a.touch(it)
		it.Step.Answered(&call.Step)
	}
	a.touch(run)
	id, repeated := a.carry(run, it, run.StepOptions(c.Options), c.Forward)
	return Receipt{MessageID: id, URL: run.URL, Deduplicated: repeated}
}

// repeated returns the entry that has, or will have, the result of the same step; nil for none.
// An endpoint that received no answer reports a step again (decided: 81). Up to rules 2, it was
// a further entry.
func (a *Account) repeated(run *Run, it *state.StepItem) *state.StepItem {
	if a.settings.Rules <= 2 {
		return nil
	}
	return cmp.Or(state.EarlierOf(it, run.Items), state.EarlierOf(it, run.Open))
}

// repeatedCall is the same for a third-party call.
func (a *Account) repeatedCall(run *Run, it *state.StepItem) *state.StepItem {
	if a.settings.Rules <= 2 || it.Step.ID == 0 {
		return nil
	}
	return run.Calls[it.Step.ID]
}

// carry appends an entry to the step list of a run, and calls the endpoint with the list up to
// this entry, unless it is repeated. extra are headers for this call only.
func (a *Account) carry(run *Run, it *state.StepItem, opts *Options, extra Header) (message string, repeated bool) {
	if first := a.repeated(run, it); first != nil {
		return first.MessageID, true
	}
	a.touch(run)
	a.touch(it)
	run.Items = append(run.Items, it)
	if it.Step.CreatedAt.IsZero() {
		it.Step.CreatedAt = a.state.Now
	}
	a.deliverItem(run, it, opts, extra)
	return it.MessageID, false
}

// deliverItem calls the endpoint with the current step list.
func (a *Account) deliverItem(run *Run, it *state.StepItem, opts *Options, extra Header) {
	headers := run.ForwardAgain(extra)
	if headers == "" {
		headers = a.state.Headers.Pair(run.Header, a.cfg.Wire.RunHeader(run), extra, run.Forward)
		a.touch(run)
		run.Forwarded(extra, headers)
	}
	m := a.create(Message{URL: run.URL, Headers: headers, Body: it.Body, Options: opts, Step: it, Cut: int32(len(run.Items))},
		state.Origin{Role: RoleStep, CallerIP: run.CallerIP, RunID: run.ID})
	a.touch(it)
	it.MessageID = m.ID
	a.reweighItem(run, it)
}

// lazyLimit is the size of a step list, in bytes, beyond which an endpoint that
// can fetch the list is called without it (wire.md, "Lazy fetch").
const lazyLimit = 3 << 20

// payloadOf is what an attempt sends: a body, or the step list.
func (a *Account) payloadOf(m *Message) ([]byte, []StepEntry) {
	run := a.state.Runs[m.RunID]
	if !m.Role.Conduct().CarriesSteps || run == nil || m.Step == nil {
		return m.Body, nil
	}
	size := 0
	items := run.Items[:min(int(m.Cut), len(run.Items))]
	for _, it := range items {
		size += len(it.Body)
	}
	if size > lazyLimit && run.Options.Workflow.Has("LazyFetch") {
		return nil, nil
	}
	return nil, stepEntries(items)
}

// stepEntries is the step list that an endpoint receives.
func stepEntries(items []*state.StepItem) []StepEntry {
	list := make([]StepEntry, len(items))
	for i, it := range items {
		list[i] = StepEntry{MessageID: it.MessageID, CallType: it.CallType, Body: it.Body}
	}
	return list
}

// callOut makes the third-party call of a step (wire.md, "Third-party calls").
func (a *Account) callOut(c *accepted) Receipt {
	r, run := &c.PublishRequest, c.run
	it := &state.StepItem{Body: r.Body, CallType: "toCallback", Redact: r.Options.Redact}
	if r.Options.Callback != nil {
		it.Step = a.cfg.Wire.ReadStep(r.Options.Callback.Options.Forward)
	}
	if first := a.repeatedCall(run, it); first != nil {
		return Receipt{MessageID: first.MessageID, URL: r.URL, Deduplicated: true}
	}
	it.Step.Type = "Call"
	it.Step.CallURL, it.Step.CallMethod = r.URL, cmp.Or(r.Options.Method, "POST")
	opts := a.state.Options.Intern(&r.Options)
	it.Step.CallHeader, it.Step.CallBody, it.Step.CreatedAt = r.Forwarded(opts), string(r.Body), a.state.Now
	a.touch(run)
	if run.Calls == nil {
		run.Calls = map[int]*state.StepItem{}
	}
	run.Calls[it.Step.ID] = it
	m := a.create(Message{URL: r.URL, Headers: a.state.Headers.Pair(r.Header, it.Step.CallHeader), Body: r.Body, Options: opts, Step: it},
		state.Origin{Role: RoleCall, CallerIP: r.CallerIP, RunID: run.ID})
	it.MessageID = m.ID
	a.reweigh(run)
	return Receipt{MessageID: m.ID, URL: r.URL}
}

// runReport configures a callback within a run: with the options of the trigger
// and the user's headers, but without the header that marks a step call
// (wire.md, "Third-party calls" and "Failure of a run").
func (a *Account) runReport(run *Run, role Role, own Options) (Options, Header) {
	opts := own.Following(state.RunCallbackFollower, run.Options)
	return opts, state.MergeHeader(own.Forward, a.cfg.Wire.ReportHeader(run, role.Conduct().BringsAnswer))
}

// The verdicts on an endpoint, with the texts that client libraries expect.
const (
	verdictNoSDK      = "trigger rest api is only usable with sdk versions after v1.0.0 major version"
	verdictNoWorkflow = "detected a non-workflow destination for trigger/invoke. make sure you are sending the request to the correct endpoint"
)

// disproved returns why the first answer of an endpoint shows that it cannot
// execute the run, and what to do about it; "" when it can.
func (a *Account) disproved(r *Run, m *Message, o *Outcome) (verdict, help string) {
	if r == nil || r.Proven || !m.Role.Conduct().CarriesSteps || !o.OK() {
		return "", ""
	}
	a.touch(r)
	r.Proven = true
	switch {
	case r.Bare && !o.Answer.Library:
		return verdictNoSDK, fmt.Sprintf("%s answered %d without the header %s: v...; trigger it with a client library, or publish to it if it is a plain endpoint", r.URL, o.Status, a.headerName(r.Options, "Workflow-Sdk"))
	case !r.Bare && r.Options.Workflow.Has("WF_DetectTrigger") && !o.Answer.Workflow:
		return verdictNoWorkflow, fmt.Sprintf("%s answered %d without the header %s; publish to it if it is a plain endpoint", r.URL, o.Status, a.headerName(r.Options, "Workflow-Sdk-Version"))
	}
	return "", ""
}
