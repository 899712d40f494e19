package engine

import "github.com/understudy-mock/understudy/engine/internal/view"

// view is the current state for reading. It is valid only while the lock is held.
func (a *Account) view() *view.Account {
	return &view.Account{State: &a.state, Wire: a.cfg.Wire, HeaderName: a.headerName, RetryWait: a.retryWait, Parallel: a.cfg.Parallel}
}

// Search fills items with the next entries of a list, newest first, that are in one of the
// states of the filter and after its cursor. It returns their number and the next cursor, "" at
// the end. It holds the lock for one call only, so that a search of everything, list by list
// and part by part, does not stop the account. The lists are message, run, dlq, log, and
// answers (the log events with more than a state).
func (a *Account) Search(list string, f *Filter, items []SearchItem) (n int, next string, err error) {
	a.lock()
	defer a.unlock()
	return a.view().Search(list, f, items)
}
