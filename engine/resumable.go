package engine

import (
	"fmt"
	"math"
	"time"
)

// maxResumable is how many resumable queries an index keeps open.
const maxResumable = 1000

// resumable is a query whose further results can be fetched. It keeps what it
// found when it started; a snapshot does not have it.
type resumable struct {
	ResumableQuery
	rest []Scored
	used time.Time
}

// ResumableQuery is a query whose further results can be fetched.
type ResumableQuery struct {
	VectorQuery
	VectorParts               // of its results
	MaxIdle     time.Duration // it ends when it is not used for longer
}

// VectorParts says what of a vector is shown beside its id.
type VectorParts struct{ Vector, Metadata, Data bool }

// StartResumable runs a query and keeps its further results until it ends or is
// idle for too long.
func (a *Account) StartResumable(index, ns string, q ResumableQuery) (id string, first []Scored, err error) {
	a.lock()
	defer a.unlock()
	k := q.TopK
	q.TopK = math.MaxInt
	found, err := a.queryVectors(index, ns, q.VectorQuery)
	if err != nil {
		return "", nil, err
	}
	x, err := a.index(index)
	if err != nil {
		return "", nil, err
	}
	x.dropIdle(a.now)
	if len(x.open) >= maxResumable {
		return "", nil, fmt.Errorf("resumable queries: %d are open; end some first: %w", len(x.open), ErrInvalid)
	}
	a.vectors[index] = x
	if x.open == nil {
		x.open = map[string]*resumable{}
	}
	id = a.ids.id("", a.now)
	x.open[id] = &resumable{q, found, a.now}
	return id, x.open[id].take(k), nil
}

// NextResumable gives the next results of a resumable query.
func (a *Account) NextResumable(index, id string, k int) ([]Scored, VectorParts, error) {
	a.lock()
	defer a.unlock()
	_, r, err := a.resumable(index, id)
	if err != nil {
		return nil, VectorParts{}, err
	}
	r.used = a.now
	return r.take(k), r.VectorParts, nil
}

// EndResumable ends a resumable query.
func (a *Account) EndResumable(index, id string) error {
	a.lock()
	defer a.unlock()
	x, _, err := a.resumable(index, id)
	if err != nil {
		return err
	}
	delete(x.open, id)
	return nil
}

func (a *Account) resumable(index, id string) (*vectorIndex, *resumable, error) {
	x, err := a.index(index)
	if err != nil {
		return nil, nil, err
	}
	x.dropIdle(a.now)
	if x.open[id] == nil {
		return nil, nil, fmt.Errorf("resumable query %.80q: not found; it may have ended, or have been idle for longer than its maxIdle: %w", id, ErrNotFound)
	}
	return x, x.open[id], nil
}

// dropIdle ends the queries that nobody has used for longer than they allow.
func (x *vectorIndex) dropIdle(now time.Time) {
	for id, r := range x.open {
		if now.Sub(r.used) > r.MaxIdle {
			delete(x.open, id)
		}
	}
}

// take removes the first results and returns them.
func (r *resumable) take(k int) []Scored {
	k = min(k, len(r.rest))
	first := r.rest[:k:k]
	r.rest = r.rest[k:]
	return first
}
