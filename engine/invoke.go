package engine

import (
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// invocation is what an invoked run needs to report to its invoker.
type invocation struct {
	run     *Run
	item    *item
	raw     []byte
	headers Header
}

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
	c.invoked = &invocation{run: parent, item: &item{callType: "step", step: step}, raw: asked.StepBody, headers: asked.Header}
	return nil
}

// invokedBy makes run the child of its invoker, and takes its payload from
// there ("INVOKED").
func (a *Account) invokedBy(run *Run, by *invocation) {
	s := &by.item.step
	s.CreatedAt, s.Invoked, s.InvokedHeader = a.now, &run.RunRef, run.Forward
	a.touch(by.run)
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
	it := inv.item
	a.touch(it)
	a.touch(inv.run)
	it.step.Out = a.cfg.Wire.InvocationResult(run)
	it.body = a.cfg.Wire.FinishStep(inv.raw, &it.step)
	if inv.run.ended() { // nobody waits for the outcome; the run view shows it
		it.settled = StepSuccess
		return
	}
	inv.run.close(it)
	a.carry(inv.run, it, inv.run.stepOptions(Options{}), inv.headers)
}
