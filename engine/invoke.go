package engine

import (
	"encoding/json"
	"fmt"
	"net/textproto"
	"time"
)

// envelope is the body of a publish that invokes another workflow (wire.md, "Invoked runs").
type envelope struct {
	Body         string              `json:"body"`
	Headers      map[string][]string `json:"headers"`
	RunID        string              `json:"workflowRunId"`
	RunCreatedAt json.RawMessage     `json:"workflowRunCreatedAt"`
	RunURL       string              `json:"workflowUrl"`
	Step         json.RawMessage     `json:"step"`
}

// invocation is what an invoked run needs to report to its invoker.
type invocation struct {
	run     *Run
	item    *item
	raw     json.RawMessage
	headers Header
}

// acceptableInvoke refuses an invocation that cannot be read, or whose invoker
// has ended.
func (a *Account) acceptableInvoke(c *accepted) error {
	if !c.Options.Workflow.Invoke {
		return nil
	}
	var e envelope
	if err := json.Unmarshal(c.Body, &e); err != nil {
		return fmt.Errorf("invoke: the body is not the JSON of an invocation: %w: %w", err, ErrInvalid)
	}
	step, err := parseStep(e.Step)
	if err != nil {
		return fmt.Errorf("invoke: %w", err)
	}
	parent, err := a.openRun(e.RunID, time.Time{})
	if err != nil {
		return err
	}
	step.Type, step.CallType, step.InvokedBody = "Invoke", "step", e.Body
	headers := Header{}
	for name, values := range e.Headers {
		headers[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	c.invoked = &invocation{run: parent, item: &item{callType: "step", step: step}, raw: e.Step, headers: headers}
	return nil
}

// invokedBy makes run the child of its invoker, and takes its payload from
// there ("INVOKED").
func (a *Account) invokedBy(run *Run, by *invocation) {
	s := &by.item.step
	s.CreatedAt, s.Invoked, s.InvokedHeader = a.now, &run.RunRef, run.Forward
	by.run.open = append(by.run.open, by.item)
	run.Payload, run.Invoker, run.invoked = []byte(s.InvokedBody), &by.run.RunRef, by
	a.append(event{state: string(Invoked), run: by.run, detail: &detail{step: by.item}})
}

// tellInvoker appends the outcome of an ended run to its invoker. One that has
// ended meanwhile is not called again.
func (a *Account) tellInvoker(run *Run) {
	inv := run.invoked
	if inv == nil {
		return
	}
	out := struct {
		Body       string `json:"body,omitempty"`
		IsFailed   bool   `json:"isFailed"`
		IsCanceled bool   `json:"isCanceled"`
	}{string(run.Result), run.State == RunFailed, run.State == RunCanceled}
	b, err := json.Marshal(out)
	if err != nil {
		return // a string and booleans always marshal
	}
	it := inv.item
	it.step.Out = string(b)
	it.body = withFields(inv.raw, map[string]any{"out": string(b)})
	if inv.run.ended() { // nobody waits for the outcome; the run view shows it
		it.settled = StepSuccess
		return
	}
	inv.run.close(it)
	a.carry(inv.run, it, inv.run.stepOptions(Options{}), inv.headers)
}
