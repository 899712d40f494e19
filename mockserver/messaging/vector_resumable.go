package messaging

import (
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// Bounds of maxIdle in seconds.
const (
	defaultMaxIdle = 3600
	longestMaxIdle = 86400 * 365
)

// startResumableQuery keeps the query in the account, which drops it after maxIdle
// without use.
func (a *API) startResumableQuery(c *request.Call) (any, error) {
	var q selection
	if err := request.Unmarshal(c.Body, &q); err != nil {
		return nil, err
	}
	query, err := a.vectorQuery(c, &q)
	if err != nil {
		return nil, err
	}
	idle := float64(defaultMaxIdle)
	if q.MaxIdle != nil {
		idle = *q.MaxIdle
	}
	if idle <= 0 || idle > longestMaxIdle {
		return nil, response.Invalid(fmt.Sprintf("body /maxIdle: invalid value %g: must be a number of seconds above 0, at most %d", idle, longestMaxIdle))
	}
	started, err := engine.ChangeVectors(c.Account, c.Index, vector.StartCommand{Namespace: namespaceOf(c), Query: vector.ResumableQuery{
		Query: query, MaxIdle: time.Duration(idle * float64(time.Second)),
		Parts: vector.Parts{Vector: q.IncludeVectors, Metadata: q.IncludeMetadata, Data: q.IncludeData},
	}})
	if err != nil {
		return nil, err
	}
	b, done := a.budget(c)
	defer done()
	list, err := b.scored(&q, started.First)
	return vectorResult(map[string]any{"uuid": started.ID, "scores": list}), err
}

// resumption is the body of the later calls of a resumable query.
type resumption struct {
	UUID        string `json:"uuid"`
	AdditionalK *int   `json:"additionalK"`
}

// nextResumableQuery shows the parts of each vector that were requested when the
// query was started.
func (a *API) nextResumableQuery(c *request.Call) (any, error) {
	var body resumption
	if err := request.Unmarshal(c.Body, &body); err != nil {
		return nil, err
	}
	if body.AdditionalK == nil || *body.AdditionalK < 1 {
		return nil, response.Invalid("body /additionalK: must be an integer of 1 or more")
	}
	more, err := engine.ChangeVectors(c.Account, c.Index, vector.NextCommand{ID: body.UUID, Count: *body.AdditionalK})
	q := selection{IncludeVectors: more.Parts.Vector, IncludeMetadata: more.Parts.Metadata, IncludeData: more.Parts.Data}
	if err != nil {
		return nil, err
	}
	b, done := a.budget(c)
	defer done()
	list, err := b.scored(&q, more.Results)
	return vectorResult(list), err
}

func (a *API) endResumableQuery(c *request.Call) (any, error) {
	var body resumption
	if err := request.Unmarshal(c.Body, &body); err != nil {
		return nil, err
	}
	_, err := engine.ChangeVectors(c.Account, c.Index, vector.EndCommand{ID: body.UUID})
	return vectorResult("Success"), err
}
