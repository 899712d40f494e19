package engine

// Overview summarizes the account, and returns a channel that is closed when the summary may
// have changed. Its cost does not depend on the number of messages.
func (a *Account) Overview() (Overview, <-chan struct{}) {
	a.lock()
	defer a.unlock()
	o := a.view().Overview()
	o.Attempts, o.NeedsVersion = a.attempts, a.relies && !a.replaying
	return o, a.changes()
}

// Touch notifies the followers of the account of a change that is not in the log.
func (a *Account) Touch() {
	a.lock()
	defer a.unlock()
	a.changed()
}

// changes is closed by the next change.
func (a *Account) changes() <-chan struct{} {
	if a.more == nil {
		a.more = make(chan struct{})
	}
	return a.more
}

// changed closes the channel. The next follower creates a new one, so that
// commands cost nothing without followers.
func (a *Account) changed() {
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}
