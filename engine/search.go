package engine

import (
	"github.com/understudy-mock/understudy/engine/search"
)

// newID draws an id at the account's time.
func (a *Account) newID(prefix string) string { return a.ids.id(prefix, a.now) }

// CreateSearchIndex makes an index (extension). An id and a time of creation are
// drawn unless they are given.
func (a *Account) CreateSearchIndex(x search.Index) (search.Index, error) {
	return do(a, createSearchIndex{x})
}

type createSearchIndex struct{ Index search.Index }

func (c createSearchIndex) apply(a *Account) (search.Index, error) {
	return a.search.Create(c.Index, a.newID, a.now)
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
	return done(do(a, renameSearchIndex{id, name}))
}

type renameSearchIndex struct {
	ID   string
	Name string
}

func (c renameSearchIndex) apply(a *Account) (nothing, error) {
	return nothing{}, a.search.Rename(c.ID, c.Name)
}

// ResetSearchIndexTokens draws new tokens for an index.
func (a *Account) ResetSearchIndexTokens(id string) error {
	return done(do(a, resetSearchIndexTokens{id}))
}

type resetSearchIndexTokens struct{ ID string }

func (c resetSearchIndexTokens) apply(a *Account) (nothing, error) {
	return nothing{}, a.search.ResetTokens(c.ID, a.newID)
}

// DeleteSearchIndex removes an index for good ("Delete a search index").
func (a *Account) DeleteSearchIndex(id string) error { return done(do(a, deleteSearchIndex{id})) }

type deleteSearchIndex struct{ ID string }

func (c deleteSearchIndex) apply(a *Account) (nothing, error) {
	return nothing{}, a.search.Delete(c.ID)
}
