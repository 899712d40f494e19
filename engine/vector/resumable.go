package vector

import (
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// maxResumable is the largest number of open resumable queries of an index.
const maxResumable = 1000

// resumable is an open query. It keeps its results from the start; snapshots do not include it.
type resumable struct {
	ResumableQuery
	rest ranking
	used time.Time
}

// ResumableQuery is a query whose further results can be fetched.
type ResumableQuery struct {
	Query
	Parts                 // to show of its results
	MaxIdle time.Duration // the query ends if it is not used for longer
}

// Parts says what to show of a vector besides its id.
type Parts struct{ Vector, Metadata, Data bool }

// Start runs a query and keeps its further results until it ends or is idle for too long.
// draw generates its id, only if the query starts.
func (x *Index) Start(ns string, q ResumableQuery, draw func() string, now time.Time) (id string, first []Scored, err error) {
	found, err := x.rank(ns, q.Query, now)
	if err != nil {
		return "", nil, err
	}
	x.dropIdle(now)
	if len(x.open) >= maxResumable {
		return "", nil, refusal.Of(refusal.Invalid, "resumable queries", "", fmt.Sprintf("%d are open; end some first", len(x.open)))
	}
	if x.open == nil {
		x.open = map[string]*resumable{}
	}
	id = draw()
	x.open[id] = &resumable{q, found, now}
	return id, found.take(q.TopK), nil
}

// Next returns the next results of a resumable query.
func (x *Index) Next(id string, k int, now time.Time) ([]Scored, Parts, error) {
	r, err := x.resumable(id, now)
	if err != nil {
		return nil, Parts{}, err
	}
	r.used = now
	return r.rest.take(k), r.Parts, nil
}

// End ends a resumable query.
func (x *Index) End(id string, now time.Time) error {
	_, err := x.resumable(id, now)
	delete(x.open, id)
	return err
}

func (x *Index) resumable(id string, now time.Time) (*resumable, error) {
	x.dropIdle(now)
	if x.open[id] == nil {
		return nil, refusal.Of(refusal.NotFound, "resumable query", id, "not found; it may have ended, or have been idle for longer than its maxIdle")
	}
	return x.open[id], nil
}

// dropIdle ends the queries that were idle for longer than MaxIdle.
func (x *Index) dropIdle(now time.Time) {
	for id, r := range x.open {
		if now.Sub(r.used) > r.MaxIdle {
			delete(x.open, id)
		}
	}
}
