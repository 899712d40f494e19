package engine

// Explain explains what has that id.
func (a *Account) Explain(id string) (Explanation, error) {
	a.lock()
	defer a.unlock()
	return a.view().Explain(id)
}
