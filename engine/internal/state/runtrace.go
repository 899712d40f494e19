package state

// StepItem returns the wait or the invocation that a run-level event reports, nil for other
// events.
func (e *LogEntry) StepItem() *StepItem {
	if e.LogDetail == nil || e.State != string(WaiterAdded) && e.State != string(Invoked) {
		return nil
	}
	return e.Step
}
