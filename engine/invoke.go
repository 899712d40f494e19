package engine

import (
	"encoding/json"
	"fmt"
	"net/textproto"
	"time"
)

// envelope is the body of a publish that invokes another workflow (wire facts
// on workflows, section 3.3).
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
func (a *Account) acceptableInvoke(r PublishRequest) error {
	if !r.Options.Workflow.Invoke {
		return nil
	}
	var e envelope
	if err := json.Unmarshal(r.Body, &e); err != nil {
		return fmt.Errorf("invoke: the body is not the JSON of an invocation: %w: %w", err, ErrInvalid)
	}
	if _, err := parseStep(e.Step); err != nil {
		return fmt.Errorf("invoke: %w", err)
	}
	_, err := a.openRun(e.RunID, time.Time{})
	return err
}

// invokedBy makes run the child of the run in the envelope, and takes its
// payload from there ("INVOKED").
func (a *Account) invokedBy(run *Run, r PublishRequest) {
	var e envelope
	if err := json.Unmarshal(r.Body, &e); err != nil {
		return // acceptable looked at it
	}
	parent := a.runs[e.RunID]
	if parent == nil {
		return
	}
	step, _ := parseStep(e.Step) // acceptable looked at it
	step.Type, step.CallType, step.CreatedAt = "Invoke", "step", a.now
	step.Invoked, step.InvokedBody, step.InvokedHeader = &run.RunRef, e.Body, run.Forward
	headers := Header{}
	for name, values := range e.Headers {
		headers[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	it := &item{callType: "step", step: step}
	parent.open = append(parent.open, it)
	run.Payload, run.Invoker = []byte(e.Body), &parent.RunRef
	run.invoked = &invocation{run: parent, item: it, raw: e.Step, headers: headers}
	a.append(event{state: string(Invoked), run: parent, detail: &detail{step: it}})
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
