package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// SearchIndex is an index of the management API (decided: open point 11).
type SearchIndex struct {
	ID            string
	Name          string
	Region        string
	Type          string
	CreatedAt     time.Time
	Token         string
	ReadOnlyToken string
}

// CreateSearchIndex makes an index (extension). An id may be given by a
// fixture; otherwise it is "".
func (a *Account) CreateSearchIndex(s SearchIndex) (SearchIndex, error) {
	a.lock()
	defer a.unlock()
	if s.ID == "" {
		s.ID = a.ids.id("", a.now)
	}
	if a.search[s.ID] != nil {
		return SearchIndex{}, fmt.Errorf("search index %q: %w", s.ID, ErrExists)
	}
	s.CreatedAt = a.now
	s.Token, s.ReadOnlyToken = a.ids.id("srt_", a.now), a.ids.id("srr_", a.now)
	a.search[s.ID] = &s
	return s, nil
}

// SearchIndexes lists all indexes by id.
func (a *Account) SearchIndexes() []SearchIndex {
	a.lock()
	defer a.unlock()
	list := make([]SearchIndex, 0, len(a.search))
	for _, s := range a.search {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(x, y SearchIndex) int { return strings.Compare(x.ID, y.ID) })
	return list
}

// SearchIndex is one index.
func (a *Account) SearchIndex(id string) (SearchIndex, error) {
	a.lock()
	defer a.unlock()
	s, err := a.searchIndex(id)
	if err != nil {
		return SearchIndex{}, err
	}
	return *s, nil
}

func (a *Account) searchIndex(id string) (*SearchIndex, error) {
	if s := a.search[id]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("search index %q: no such index; it may have been deleted: %w", id, ErrNotFound)
}

// RenameSearchIndex changes the name of an index.
func (a *Account) RenameSearchIndex(id, name string) error {
	a.lock()
	defer a.unlock()
	s, err := a.searchIndex(id)
	if err == nil {
		s.Name = name
	}
	return err
}

// ResetSearchIndexTokens draws new tokens for an index.
func (a *Account) ResetSearchIndexTokens(id string) error {
	a.lock()
	defer a.unlock()
	s, err := a.searchIndex(id)
	if err == nil {
		s.Token, s.ReadOnlyToken = a.ids.id("srt_", a.now), a.ids.id("srr_", a.now)
	}
	return err
}

// DeleteSearchIndex removes an index and all its data for good ("Delete a
// search index").
func (a *Account) DeleteSearchIndex(id string) error {
	a.lock()
	defer a.unlock()
	if _, err := a.searchIndex(id); err != nil {
		return err
	}
	delete(a.search, id)
	return nil
}
