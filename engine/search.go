package engine

import (
	"github.com/understudy-mock/understudy/engine/search"
)

// newID draws an id at the account's time.
func (a *Account) newID(prefix string) string { return a.ids.id(prefix, a.now) }

// CreateSearchIndex makes an index (extension). An id and a time of creation are
// drawn unless they are given.
func (a *Account) CreateSearchIndex(x search.Index) (search.Index, error) {
	a.lock()
	defer a.unlock()
	return a.search.Create(x, a.newID, a.now)
}

// SearchIndexes lists all indexes by id.
func (a *Account) SearchIndexes() []search.Index {
	a.lock()
	defer a.unlock()
	return a.search.List()
}

// SearchIndex is one index.
func (a *Account) SearchIndex(id string) (search.Index, error) {
	a.lock()
	defer a.unlock()
	return a.search.Get(id)
}

// RenameSearchIndex changes the name of an index.
func (a *Account) RenameSearchIndex(id, name string) error {
	a.lock()
	defer a.unlock()
	return a.search.Rename(id, name)
}

// ResetSearchIndexTokens draws new tokens for an index.
func (a *Account) ResetSearchIndexTokens(id string) error {
	a.lock()
	defer a.unlock()
	return a.search.ResetTokens(id, a.newID)
}

// DeleteSearchIndex removes an index for good ("Delete a search index").
func (a *Account) DeleteSearchIndex(id string) error {
	a.lock()
	defer a.unlock()
	return a.search.Delete(id)
}
