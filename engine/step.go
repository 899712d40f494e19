package engine

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Step is one step of a run, as its endpoint reported it ("stepInfo"; names
// decided: 4).
type Step struct {
	ID         int // from 1; 0 for the initial step and for plans
	Name       string
	Type       string // Initial, Run, Call, SleepFor, SleepUntil, Wait, Notify, Invoke
	CallType   string
	MessageID  string
	Out        string
	Concurrent int
	TargetStep int // of a plan: the step that it is for
	CreatedAt  time.Time

	SleepFor   time.Duration
	SleepUntil time.Time

	CallURL            string
	CallMethod         string
	CallHeader         Header
	CallBody           string
	CallStatus         int // 0 until the answer came
	CallResponseBody   string
	CallResponseHeader Header

	WaitEventID  string
	WaitFor      string // the time limit as given, such as 120s
	WaitDeadline time.Time
	WaitTimedOut *bool // nil while it waits

	Invoked       *RunRef
	InvokedBody   string
	InvokedHeader Header
}

// item is an entry of a run's step list, or a third-party call beside it.
type item struct {
	messageID string
	body      []byte // the payload, or one step as JSON
	callType  string // step, toCallback, fromCallback
	step      Step
	waiter    *waiter      // the wait that this entry stands for, while it lasts
	errors    []StepError  // of the attempts to deliver it
	ended     MessageState // of the call that carried it, once that is over
	settled   string       // state in the run view of a step whose result is in no list, "" otherwise
	saved     savedAt
}

// acceptableStep refuses what is meant for a run that is not there or has
// ended: clients take exactly this refusal as "the run is over".
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
	c.step = &step
	return nil
}

// unreadableStep is the refusal of a step that its run cannot go on without.
type unreadableStep struct {
	run *Run
	error
}

// Unwrap is the fault of the step.
func (e *unreadableStep) Unwrap() error { return e.error }

// changesState reports whether a refused command has changed the state all the same.
func changesState(err error) bool {
	_, failed := errors.AsType[*unreadableStep](err)
	return failed
}

// failUnreadable fails the run whose endpoint has submitted a step that cannot
// be read: it takes the refusal as the end of the run, and submits nothing more.
func (a *Account) failUnreadable(err error) {
	var refused *unreadableStep
	if !errors.As(err, &refused) {
		return
	}
	run := refused.run
	last := run.items[len(run.items)-1]
	m := &Message{ID: last.messageID, Role: RoleStep, State: Failed, URL: run.URL, Method: "POST", Options: run.Options,
		MaxRetries: run.Options.retries(), CreatedAt: a.now, NotBefore: a.now, CallerIP: run.CallerIP, RunID: run.ID, step: last}
	o := &Outcome{Err: "the endpoint submitted a step that cannot be read: " + refused.Error()}
	a.touch(last)
	last.ended = Failed
	last.failed(o.Err, o, a.now)
	a.append(event{state: string(Errored), msg: m, run: run, detail: &detail{err: o.Err, out: o}})
	a.failRun(run, m, o)
}

// openRun is a run that has not ended.
func (a *Account) openRun(id string, createdAt time.Time) (*Run, error) {
	run := a.runs[id]
	switch {
	case run == nil:
		return nil, refusal.Of(ErrEnded, "workflow run", id, "not found; it takes no step")
	case run.ended() || !createdAt.IsZero() && !createdAt.Equal(run.CreatedAt):
		return nil, refusal.Of(ErrEnded, "workflow run", id, "has ended with "+string(run.State)+"; it takes no step")
	}
	a.touch(run) // its caller adds to it
	return run, nil
}

// submit appends a step that the endpoint reports, and carries the list on.
func (a *Account) submit(c *accepted) Receipt {
	run := c.run
	it := &item{body: c.Body, callType: cmp.Or(c.Options.Workflow.CallType, "step"), step: *c.step}
	if call := run.calls[c.step.ID]; c.step.Type == "Call" && c.step.TargetStep == 0 && call != nil {
		it.step.answered(&call.step)
	}
	m := a.carry(run, it, run.stepOptions(c.Options), c.Forward)
	return Receipt{MessageID: m.ID, URL: m.URL}
}

// answered takes over what is known of a finished third-party call.
func (s *Step) answered(call *Step) {
	s.CallURL, s.CallMethod, s.CallHeader, s.CallBody = call.CallURL, call.CallMethod, call.CallHeader, call.CallBody
	s.CallStatus, s.CallResponseBody, s.CallResponseHeader = call.CallStatus, call.CallResponseBody, call.CallResponseHeader
}

// carry appends an entry to the list of a run and calls the endpoint with the
// list up to it.
func (a *Account) carry(run *Run, it *item, opts *Options, extra ...Header) *Message {
	a.touch(run)
	a.touch(it)
	run.items = append(run.items, it)
	if it.step.CreatedAt.IsZero() {
		it.step.CreatedAt = a.now
	}
	return a.deliverItem(run, it, opts, extra...)
}

// deliverItem calls the endpoint with the list as it stands.
func (a *Account) deliverItem(run *Run, it *item, opts *Options, extra ...Header) *Message {
	forward := a.runHeader(run)
	for _, h := range extra {
		forward = mergeHeader(forward, h)
	}
	forward = mergeHeader(forward, run.Forward)
	m := a.create(&Message{
		Role:     RoleStep,
		URL:      run.URL,
		Header:   run.Header,
		Forward:  forward,
		Body:     it.body,
		Options:  opts,
		CallerIP: run.CallerIP,
		RunID:    run.ID,
		step:     it,
		cut:      len(run.items),
	})
	a.touch(it)
	it.messageID = m.ID
	a.reweigh(run)
	return m
}

// runHeader is what every call to the endpoint of a run carries.
func (a *Account) runHeader(run *Run) Header { return a.cfg.Wire.RunHeader(run, run.bare) }

// lazyLimit is the size of a step list beyond which an endpoint that can fetch
// it gets none (wire.md, "Lazy fetch").
const lazyLimit = 3 << 20

// payloadOf is what an attempt sends: a body, or the step list.
func (a *Account) payloadOf(m *Message) ([]byte, []StepEntry) {
	run := a.runs[m.RunID]
	if !m.Role.does().carriesSteps || run == nil || m.step == nil {
		return m.Body, nil
	}
	size := 0
	items := run.items[:min(m.cut, len(run.items))]
	for _, it := range items {
		size += len(it.body)
	}
	if size > lazyLimit && run.Options.Workflow.has("LazyFetch") {
		return nil, nil
	}
	return nil, stepEntries(items)
}

// stepEntries is the step list that an endpoint gets.
func stepEntries(items []*item) []StepEntry {
	list := make([]StepEntry, len(items))
	for i, it := range items {
		list[i] = StepEntry{it.messageID, it.callType, it.body}
	}
	return list
}

// callOut makes the third-party call of a step (wire.md, "Third-party calls").
func (a *Account) callOut(c *accepted) Receipt {
	r, run := &c.PublishRequest, c.run
	it := &item{body: r.Body, callType: "toCallback"}
	if r.Options.Callback != nil {
		it.step = a.cfg.Wire.ReadStep(r.Options.Callback.Options.Forward)
	}
	it.step.Type = "Call"
	it.step.CallURL, it.step.CallMethod = r.URL, cmp.Or(r.Options.Method, "POST")
	opts := a.options.share(r.Options)
	it.step.CallHeader, it.step.CallBody, it.step.CreatedAt = r.forward(opts), string(r.Body), a.now
	if run.calls == nil {
		run.calls = map[int]*item{}
	}
	run.calls[it.step.ID] = it
	m := a.create(&Message{
		Role:     RoleCall,
		URL:      r.URL,
		Header:   r.Header,
		Forward:  it.step.CallHeader,
		Body:     r.Body,
		Options:  opts,
		CallerIP: r.CallerIP,
		RunID:    run.ID,
		step:     it,
	})
	it.messageID = m.ID
	a.reweigh(run)
	return Receipt{MessageID: m.ID, URL: r.URL}
}

// answered keeps what the run view and the step of a third-party call need of
// an outcome.
func (m *Message) answered(o *Outcome, now time.Time) {
	if m.step == nil {
		return
	}
	if m.Role.does().callsOut {
		s := &m.step.step
		s.CallStatus, s.CallResponseBody, s.CallResponseHeader = o.Status, string(o.Body), o.Header
	}
	if !o.ok() {
		m.step.failed(failureText(o), o, now)
	}
}

// failed keeps a failed attempt for the run view.
func (it *item) failed(why string, o *Outcome, now time.Time) {
	it.errors = append(it.errors, StepError{Error: why, Body: string(o.Body), Header: o.Header, Status: o.Status, Time: now})
}

// StepError is a failed attempt in the run view.
type StepError struct {
	Error  string
	Body   string
	Header Header
	Status int
	Time   time.Time
}

// runReport configures a callback within a run: as the trigger asked, with the
// user's headers, but without the mark of a step call (wire.md, "Third-party calls" and "Failure of a run").
func (a *Account) runReport(run *Run, role Role, own Options) (Options, Header) {
	opts := own.following(runCallbackFollower, run.Options)
	return opts, mergeHeader(own.Forward, a.cfg.Wire.ReportHeader(run, run.bare, role.does().bringsAnswer))
}

// The verdicts on an endpoint, in the words that client libraries expect.
const (
	verdictNoSDK      = "trigger rest api is only usable with sdk versions after v1.0.0 major version"
	verdictNoWorkflow = "detected a non-workflow destination for trigger/invoke. make sure you are sending the request to the correct endpoint"
)

// disproved says why the first answer of an endpoint shows that it cannot
// execute the run, and what to do about it; "" when it may.
func (a *Account) disproved(r *Run, m *Message, o *Outcome) (verdict, help string) {
	if r == nil || r.proven || !m.Role.does().carriesSteps || !o.ok() {
		return "", ""
	}
	r.proven = true
	switch {
	case r.bare && !o.answer.Library:
		return verdictNoSDK, fmt.Sprintf("%s answered %d without the header %s: v...; trigger it with a client library, or publish to it if it is a plain endpoint", r.URL, o.Status, a.headerName(r.Options, "Workflow-Sdk"))
	case !r.bare && r.Options.Workflow.has("WF_DetectTrigger") && !o.answer.Workflow:
		return verdictNoWorkflow, fmt.Sprintf("%s answered %d without the header %s; publish to it if it is a plain endpoint", r.URL, o.Status, a.headerName(r.Options, "Workflow-Sdk-Version"))
	}
	return "", ""
}
