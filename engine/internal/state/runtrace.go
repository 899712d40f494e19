package state

// StepItem is the wait or the invocation that a run-level event tells of.
func (e *LogEntry) StepItem() *StepItem {
	if e.LogDetail == nil || e.State != string(WaiterAdded) && e.State != string(Invoked) {
		return nil
	}
	return e.Step
}
