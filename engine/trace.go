package engine

// Messages lists all messages in the log, including those that have ended, with
// their last state. Without an order in the filter, the newest come first.
func (a *Account) Messages(f Filter) (Page[MessageSummary], error) {
	a.lock()
	defer a.unlock()
	return a.view().Messages(f)
}

// Trace returns everything that the log has of one message, or ErrNotFound.
func (a *Account) Trace(id string) (Trace, error) {
	a.lock()
	defer a.unlock()
	return a.view().Trace(id)
}
