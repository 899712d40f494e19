package engine

// Explain reports why the message, run, DLQ entry or flow-control key with this id is in its
// state, and what it waits for. It returns ErrNotFound for an unknown id.
func (a *Account) Explain(id string) (Explanation, error) {
	a.lock()
	defer a.unlock()
	return a.view().Explain(id)
}
