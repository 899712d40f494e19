package engine

// RunSummaries lists runs without their steps, newest first.
func (a *Account) RunSummaries(f Filter) (Page[RunSummary], error) {
	a.lock()
	defer a.unlock()
	return a.view().RunSummaries(f)
}

// RunTrace returns the steps of a run on a time axis, or ErrNotFound.
func (a *Account) RunTrace(id string) (RunTrace, error) {
	a.lock()
	defer a.unlock()
	run := a.state.Runs[id]
	if run == nil {
		return RunTrace{}, unknownRun(id)
	}
	return a.view().RunTrace(run), nil
}
