package engine

import (
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// acceptableInvoke refuses an invocation that cannot be read, or whose invoker
// has ended.
func (a *Account) acceptableInvoke(c *accepted) error {
	if !c.Options.Workflow.Invoke {
		return nil
	}
	asked, err := a.cfg.Wire.ParseInvocation(c.Body)
	if err != nil {
		return refusal.At("invoke", err)
	}
	parent, err := a.openRun(asked.RunID, time.Time{})
	if err != nil {
		return err
	}
	step := asked.Step
	step.Type, step.CallType, step.InvokedBody = "Invoke", "step", asked.Body
	c.invoked = &state.InvokerCall{Run: parent, Item: &state.StepItem{CallType: "step", Step: step, Redact: c.Options.Redact}, Raw: asked.StepBody, Headers: asked.Header}
	return nil
}

// invokedBy makes run the child of its invoker, which supplies the payload ("INVOKED").
func (a *Account) invokedBy(run *Run, by *state.InvokerCall) {
	a.touch(run)
	a.touch(by.Item)
	a.touch(by.Run)
	s := &by.Item.Step
	s.CreatedAt, s.Invoked, s.InvokedHeader = a.state.Now, &run.RunRef, run.Forward
	by.Run.Open = append(by.Run.Open, by.Item)
	run.Payload, run.Invoker, run.Invoked = []byte(s.InvokedBody), &by.Run.RunRef, by
	a.append(&state.LogEntry{State: string(Invoked), Run: by.Run, LogDetail: &state.LogDetail{Step: by.Item}})
}

// tellInvoker appends the outcome of an ended run to the run that invoked it,
// unless that run has ended.
func (a *Account) tellInvoker(run *Run) {
	inv := run.Invoked
	if inv == nil {
		return
	}
	it := inv.Item
	a.touch(it)
	a.touch(inv.Run)
	it.Step.Out = a.cfg.Wire.InvocationResult(run)
	it.Body = a.cfg.Wire.FinishStep(inv.Raw, &it.Step)
	if inv.Run.Ended() { // nobody waits for the outcome; the run view shows it
		it.Settled = state.StepSuccess
		return
	}
	inv.Run.RemoveOpen(it)
	a.carry(inv.Run, it, inv.Run.StepOptions(Options{}), inv.Headers)
}
