package engine

import "github.com/understudy-mock/understudy/engine/search"

// SearchIndexes is a copy of all search indexes.
func (a *Account) SearchIndexes() search.Indexes {
	a.lock()
	defer a.unlock()
	return a.state.Search.Clone()
}

// ChangeSearch runs a command on the search indexes, and returns the index that it has changed.
func ChangeSearch[C search.Change](a *Account, c C) (search.Index, error) {
	return runCommand(a, changeSearch[C]{c})
}

// changeSearch is the command for all changes of indexes, which package search defines.
type changeSearch[C search.Change] struct{ Change C }

func (c changeSearch[C]) apply(a *Account) (search.Index, error) {
	return c.Change.Apply(a.state.Search, a.newID, a.state.Now)
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

// newID draws an id with the account's time.
func (a *Account) newID(prefix string) string { return a.state.IDs.New(prefix, a.state.Now) }
