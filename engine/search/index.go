package search

import (
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Index is an index of the management API (decided: 11).
type Index struct {
	ID            string
	Name          string
	Region        string
	Type          string
	CreatedAt     time.Time
	Token         string
	ReadOnlyToken string
}

// Indexes are the indexes of an account by id.
type Indexes map[string]*Index

// NewID generates an id that begins with the prefix.
type NewID func(prefix string) string

// Create adds an index. A fixture may give the id and the time of creation; otherwise the
// id is generated and the time is now. An existing id is an error.
func (all Indexes) Create(x Index, draw NewID, now time.Time) (Index, error) {
	if all[x.ID] != nil {
		return Index{}, refusal.Of(refusal.Exists, "search index", x.ID, "exists already")
	}
	if x.ID == "" {
		x.ID = draw("")
	}
	if x.CreatedAt.IsZero() {
		x.CreatedAt = now
	}
	x.drawTokens(draw)
	all[x.ID] = &x
	return x, nil
}

func (x *Index) drawTokens(draw NewID) {
	x.Token, x.ReadOnlyToken = draw("srt_"), draw("srr_")
}

// List returns all indexes, sorted by id.
func (all Indexes) List() []Index {
	list := make([]Index, 0, len(all))
	for _, x := range all {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(x, y Index) int { return strings.Compare(x.ID, y.ID) })
	return list
}

// Get returns a copy of an index, or NotFound.
func (all Indexes) Get(id string) (Index, error) { return all.change(id, func(*Index) {}) }

// Clone returns a deep copy.
func (all Indexes) Clone() Indexes {
	out := make(Indexes, len(all))
	for id, x := range all {
		one := *x
		out[id] = &one
	}
	return out
}

// Rename changes the name of an index.
func (all Indexes) Rename(id, name string) (Index, error) {
	return all.change(id, func(x *Index) { x.Name = name })
}

// ResetTokens generates new tokens for an index.
func (all Indexes) ResetTokens(id string, draw NewID) (Index, error) {
	return all.change(id, func(x *Index) { x.drawTokens(draw) })
}

// Delete removes an index permanently and returns it ("Delete a search index").
func (all Indexes) Delete(id string) (Index, error) {
	return all.change(id, func(*Index) { delete(all, id) })
}

func (all Indexes) change(id string, change func(*Index)) (Index, error) {
	x := all[id]
	if x == nil {
		return Index{}, refusal.Of(refusal.NotFound, "search index", id, "not found; it may have been deleted")
	}
	change(x)
	return *x, nil
}
