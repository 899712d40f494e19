package engine

// RunViews lists runs, newest first.
func (a *Account) RunViews(f Filter) (Page[RunView], error) {
	a.lock()
	defer a.unlock()
	return a.view().RunViews(f)
}
