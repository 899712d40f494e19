package engine

// Asleep reports whether an event begins a sleep of a run.
func (e *Event) Asleep() bool {
	return e.State == string(Created) && e.Step != nil && (e.Step.Type == "SleepFor" || e.Step.Type == "SleepUntil") && e.NextAt.After(e.Time)
}
