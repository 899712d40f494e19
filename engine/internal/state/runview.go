package state

// View returns the step as logs show it.
func (it *StepItem) View(r *Redaction) Step {
	s := it.Step
	s.MessageID, s.CallType = it.MessageID, it.CallType
	if r != nil && r.Body && s.Out != "" {
		s.Out = string(RedactedValue([]byte(s.Out)))
	}
	return s
}
