package engine

// Redaction returns what the options of a run and of a group redact; nil for nothing. An
// empty or unknown name has no options.
func (a *Account) Redaction(runID, group string) (r *Redaction) {
	a.lock()
	defer a.unlock()
	if run := a.state.Runs[runID]; run != nil {
		r = run.Options.Redact
	}
	if g := a.state.Groups[group]; g != nil {
		r = r.And(g.Options.Redact)
	}
	return r
}
