package engine

// Messages lists messages by their creation, newest first, as far back as the
// log goes: those that have ended too, in the state that they ended in.
func (a *Account) Messages(f Filter) (Page[Message], error) {
	a.lock()
	defer a.unlock()
	return a.view().Messages(f)
}

// Trace follows a message through its life, as far back as the log goes.
func (a *Account) Trace(id string) (Trace, error) {
	a.lock()
	defer a.unlock()
	return a.view().Trace(id)
}
