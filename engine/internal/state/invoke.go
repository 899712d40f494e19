package state

// InvokerCall is what an invoked run needs to report to its invoker.
type InvokerCall struct {
	Run     *Run
	Item    *StepItem
	Raw     []byte
	Headers Header
}
