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

// newID draws an id with the account's time.
func (a *Account) newID(prefix string) string { return a.state.IDs.New(prefix, a.state.Now) }
