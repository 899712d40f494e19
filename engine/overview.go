package engine

// Overview tells how things stand, and gives a channel that is closed when
// that may have changed. It costs the same however many messages there are.
func (a *Account) Overview() (Overview, <-chan struct{}) {
	a.lock()
	defer a.unlock()
	o := a.view().Overview()
	o.Attempts = a.attempts
	return o, a.changes()
}

// Touch tells whoever follows the account that something has changed that the
// log does not show.
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

// changed closes the channel and makes no new one: that is for the next follower, so that
// commands pay nothing while nobody follows.
func (a *Account) changed() {
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}
