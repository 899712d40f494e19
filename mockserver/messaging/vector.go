package messaging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// vectorResult wraps a result in the envelope of all responses of the vector host.
func vectorResult(v any) response.Response {
	return response.Response{Body: map[string]any{"result": v}}
}

func (a *API) getVectorInfo(c *request.Call) (any, error) {
	info, err := engine.ReadVectors(c.Account, c.Index, vector.InfoRead{})
	if err != nil {
		return nil, err
	}
	return vectorResult(infoBody(&info)), nil
}

// infoBody is the information about an index ("Vector index information").
func infoBody(v *vector.Info) map[string]any {
	namespaces := map[string]any{}
	for name, n := range v.Namespaces {
		namespaces[name] = map[string]int{"vectorCount": n.Ready, "pendingVectorCount": n.Pending}
	}
	out := map[string]any{
		"vectorCount": v.Ready, "pendingVectorCount": v.Pending, "indexSize": v.Size,
		"dimension": v.Dimension, "similarityFunction": v.Similarity, "indexType": v.Type, "namespaces": namespaces,
	}
	if v.Type != vector.Sparse {
		out["denseIndex"] = map[string]any{"dimension": v.Dimension, "similarityFunction": v.Similarity, "embeddingModel": v.EmbeddingModel}
	}
	if v.Type != vector.Dense {
		out["sparseIndex"] = map[string]any{"embeddingModel": v.EmbeddingModel}
	}
	return out
}

// upsertVectors reads all vectors before it stores the first.
func (a *API) upsertVectors(c *request.Call) (any, error) {
	list, err := vectorBodies(c.Body)
	if err != nil {
		return nil, err
	}
	vectors := make([]vector.Vector, len(list))
	for i := range list {
		vectors[i] = list[i].vector()
	}
	_, err = engine.ChangeVectors(c.Account, c.Index, vector.UpsertCommand{Namespace: namespaceOf(c), Vectors: vectors})
	return vectorResult("Success"), err
}

// upsertVectorData stores texts with their embedded vectors.
func (a *API) upsertVectorData(c *request.Call) (any, error) {
	list, err := vectorBodies(c.Body)
	if err != nil {
		return nil, err
	}
	vectors := make([]vector.Vector, len(list))
	for i := range list {
		embedded, err := a.embed(c, list[i].Data, list[i].Vector != nil || list[i].Sparse != nil)
		if err != nil {
			return nil, err
		}
		vectors[i] = list[i].vector()
		vectors[i].Values, vectors[i].Sparse = embedded.Values, embedded.Sparse
	}
	_, err = engine.ChangeVectors(c.Account, c.Index, vector.UpsertCommand{Namespace: namespaceOf(c), Vectors: vectors})
	return vectorResult("Success"), err
}

// updateVector responds with the number of updated vectors, 0 or 1: an unknown id is
// not an error.
func (a *API) updateVector(c *request.Call) (any, error) {
	var body vectorBody
	err := request.Unmarshal(c.Body, &body)
	if err == nil {
		err = missingID([]vectorBody{body})
	}
	if err != nil {
		return nil, err
	}
	if err := request.OneOf("metadataUpdateMode", body.Mode, []string{"OVERWRITE", "PATCH"}); err != nil {
		return nil, err
	}
	changed := body.vector()
	if a.Embeds(c.Index) && body.Data != nil && changed.Values == nil && changed.Sparse == nil { // an index with a model embeds the new text
		embedded, err := a.embed(c, body.Data, false)
		if err != nil {
			return nil, err
		}
		changed.Values, changed.Sparse = embedded.Values, embedded.Sparse
	}
	updated, err := engine.ChangeVectors(c.Account, c.Index, vector.UpdateCommand{Namespace: namespaceOf(c), Vector: changed, Patch: body.Mode == "PATCH"})
	return vectorResult(map[string]int{"updated": map[bool]int{true: 1}[updated]}), err
}

// selection selects the vectors of an operation, and the parts to show.
type selection struct {
	IDs             []vectorID      `json:"ids"`
	Prefix          string          `json:"prefix"`
	Filter          string          `json:"filter"`
	IncludeVectors  bool            `json:"includeVectors"`
	IncludeMetadata bool            `json:"includeMetadata"`
	IncludeData     bool            `json:"includeData"`
	Cursor          json.RawMessage `json:"cursor"`
	Limit           int             `json:"limit"`
	Vector          numbers         `json:"vector"`
	Sparse          *sparseBody     `json:"sparseVector"`
	TopK            *int            `json:"topK"`
	Fusion          string          `json:"fusionAlgorithm"`
	Mode            string          `json:"queryMode"`
	Weighting       string          `json:"weightingStrategy"`
	Data            *string         `json:"data"`
	MaxIdle         *float64        `json:"maxIdle"`
}

func (q *selection) ids() []string {
	ids := make([]string, len(q.IDs))
	for i, id := range q.IDs {
		ids[i] = string(id)
	}
	return ids
}

// budget bounds the work and the answer of one request: a list of queries or ids may be short,
// and find everything with each of its elements.
type budget struct {
	ctx  context.Context
	most int64 // bytes of the answer
	left int64
}

// maxTime is how long the queries of one request may take.
const maxTime = 5 * time.Second

func (a *API) budget(c *request.Call) (*budget, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), maxTime)
	return &budget{ctx, a.MaxAnswer, a.MaxAnswer}, cancel
}

// spent refuses a request that has used up its time, or whose client has left.
func (b *budget) spent() error {
	if b.ctx.Err() == nil {
		return nil
	}
	return response.NotReady(fmt.Sprintf("the request takes longer than the limit of %s: send fewer queries in each", maxTime))
}

// shown returns the requested parts of a vector, if they have room in the answer; empty parts
// are absent.
func (b *budget) shown(q *selection, v *vector.Vector) (map[string]any, error) {
	const member, number, object = 24, 12, 64 // bytes: usual sizes as JSON and in memory
	out := map[string]any{"id": v.ID}
	b.left -= object + int64(len(v.ID))
	if q.IncludeVectors && v.Values != nil {
		out["vector"] = v.Values
		b.left -= number * int64(len(v.Values))
	}
	if q.IncludeVectors && v.Sparse != nil {
		out["sparseVector"] = v.Sparse
		b.left -= member * int64(len(v.Sparse.Indices))
	}
	if q.IncludeMetadata && v.Metadata != nil {
		out["metadata"] = v.Metadata
		b.left -= int64(len(v.Metadata))
	}
	if q.IncludeData && v.Data != nil {
		out["data"] = *v.Data
		b.left -= int64(len(*v.Data))
	}
	if b.left < 0 {
		return nil, response.TooLargeAnswer(b.most)
	}
	return out, b.spent()
}

// show returns the requested parts of vectors, null for a missing one.
func (a *API) show(c *request.Call, q *selection, vectors []*vector.Vector) (list []any, err error) {
	b, done := a.budget(c)
	defer done()
	list = make([]any, len(vectors))
	for i, v := range vectors {
		if v == nil {
			continue
		}
		if list[i], err = b.shown(q, v); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// deleteVectors accepts three forms of body: an object, a list of ids, and one id
// as bare text (wire.md, "Vector indexes").
func (a *API) deleteVectors(c *request.Call) (any, error) {
	var q selection
	body := bytes.TrimSpace(c.Body)
	var err error
	switch {
	case bytes.HasPrefix(body, []byte("{")):
		err = request.Unmarshal(body, &q)
	case bytes.HasPrefix(body, []byte("[")):
		err = request.Unmarshal(body, &q.IDs)
	case len(body) > 0:
		id := vectorID(body)
		if !utf8.Valid(body) {
			return nil, response.Invalid("body: must be UTF-8")
		}
		if json.Valid(body) {
			err = request.Unmarshal(body, &id)
		}
		q.IDs = []vectorID{id}
	}
	given := 0
	for _, there := range []bool{len(q.IDs) > 0, q.Prefix != "", q.Filter != ""} {
		if there {
			given++
		}
	}
	if err == nil && given != 1 {
		err = response.Invalid("Only and only one of the ids, prefix, or filter must be provided.")
	}
	if err != nil {
		return nil, err
	}
	if q.Filter != "" {
		filter, err := vector.ParseFilter(q.Filter)
		if err != nil {
			return nil, err
		}
		n, err := engine.ChangeVectors(c.Account, c.Index, vector.DeleteWhereCommand{Namespace: namespaceOf(c), Filter: filter})
		return vectorResult(map[string]int{"deleted": n}), err
	}
	n, err := engine.ChangeVectors(c.Account, c.Index, vector.DeleteCommand{Namespace: namespaceOf(c), IDs: q.ids(), Prefix: q.Prefix})
	return vectorResult(map[string]int{"deleted": n}), err
}

// maxPrefix is the largest number of vectors that a prefix fetches.
const maxPrefix = 1000

// fetchVectors returns null for each id that does not exist, so that the vectors
// have the order of the ids in the request.
func (a *API) fetchVectors(c *request.Call) (any, error) {
	var q selection
	if err := request.Unmarshal(c.Body, &q); err != nil {
		return nil, err
	}
	if len(q.IDs) > 0 && q.Prefix != "" {
		return nil, response.Invalid("Only one of ids or prefix must be provided.")
	}
	found, err := engine.ReadVectors(c.Account, c.Index, vector.FetchRead{Namespace: namespaceOf(c), IDs: q.ids(), Prefix: q.Prefix})
	if err != nil {
		return nil, err
	}
	list, err := a.show(c, &q, found[:min(len(found), max(maxPrefix, len(q.IDs)))])
	return vectorResult(list), err
}

// defaultTopK is the default number of vectors that a query finds.
const defaultTopK = 10

// askable sets the defaults of a query and checks its values.
func (q *selection) askable() error {
	if q.TopK == nil {
		q.TopK = new(defaultTopK)
	}
	if *q.TopK < 1 {
		return response.Invalid(fmt.Sprintf("body /topK: invalid value %d: must be an integer of 1 or more", *q.TopK))
	}
	if err := request.OneOf("weightingStrategy", q.Weighting, []string{"IDF"}); err != nil {
		return err
	}
	if err := request.OneOf("fusionAlgorithm", q.Fusion, []string{"RRF", "DBSF"}); err != nil {
		return err
	}
	if err := request.OneOf("queryMode", q.Mode, []string{vector.Hybrid, vector.Dense, vector.Sparse}); err != nil {
		return err
	}
	return nil
}

// queryVector returns the results of one query, or a list with the results of each
// of several. A list of one query is treated as one query.
func (a *API) queryVector(c *request.Call) (any, error) {
	queries, err := request.OneOrMany[selection](c.Body)
	if err != nil {
		return nil, err
	}
	b, done := a.budget(c)
	defer done()
	all := make([]any, len(queries))
	for i := range queries {
		if err := b.spent(); err != nil {
			return nil, err
		}
		query, err := a.vectorQuery(c, &queries[i])
		if err != nil {
			return nil, err
		}
		found, err := engine.ReadVectors(c.Account, c.Index, vector.QueryRead{Namespace: namespaceOf(c), Query: query})
		if err != nil {
			return nil, err
		}
		if all[i], err = b.scored(&queries[i], found); err != nil {
			return nil, err
		}
	}
	if len(all) == 1 {
		return vectorResult(all[0]), nil
	}
	return vectorResult(all), nil
}

// vectorQuery converts a query for the engine, and embeds its text.
func (a *API) vectorQuery(c *request.Call, q *selection) (vector.Query, error) {
	var query vector.Query
	if err := q.askable(); err != nil {
		return query, err
	}
	filter, err := vector.ParseFilter(q.Filter)
	if err != nil {
		return query, err
	}
	query = vector.Query{Values: q.Vector, Sparse: q.Sparse.vector(), TopK: *q.TopK, Mode: q.Mode, Fusion: q.Fusion, IDF: q.Weighting == "IDF", Filter: filter}
	if !takesData(c) {
		if q.Data != nil {
			return query, response.Invalid("body /data: not allowed in a query by vector; the path of a query by text ends with -data")
		}
		return query, nil
	}
	embedded, err := a.embed(c, q.Data, query.Values != nil || query.Sparse != nil)
	query.Values, query.Sparse = embedded.Values, embedded.Sparse
	return query, err
}

// scored returns the vectors that a query has found, with their scores.
func (b *budget) scored(q *selection, found []vector.Scored) ([]any, error) {
	list := make([]any, len(found))
	for i, f := range found {
		shown, err := b.shown(q, f.Vector)
		if err != nil {
			return nil, err
		}
		shown["score"] = float32(f.Score)
		list[i] = shown
	}
	return list, nil
}

// rangeVectors keeps no state between calls: the cursor is a position.
func (a *API) rangeVectors(c *request.Call) (any, error) {
	var q selection
	if len(bytes.TrimSpace(c.Body)) > 0 {
		if err := request.Unmarshal(c.Body, &q); err != nil {
			return nil, err
		}
	}
	from := 0
	if cursor := idText(q.Cursor); cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil || n < 0 {
			return nil, response.Invalid(fmt.Sprintf("cursor: invalid value %.40q: must be the nextCursor of an earlier range, or 0", cursor))
		}
		from = n
	}
	if q.Limit < 0 {
		return nil, response.Invalid(fmt.Sprintf("body /limit: invalid value %d: must be an integer of 1 or more", q.Limit))
	}
	if q.Limit == 0 {
		q.Limit = maxPrefix
	}
	page, err := engine.ReadVectors(c.Account, c.Index, vector.RangeRead{Namespace: namespaceOf(c), Prefix: q.Prefix, From: from, Limit: q.Limit})
	if err != nil {
		return nil, err
	}
	list, err := a.show(c, &q, page.Vectors)
	cursor := ""
	if page.Next >= 0 {
		cursor = strconv.Itoa(page.Next)
	}
	return vectorResult(map[string]any{"nextCursor": cursor, "vectors": list}), err
}

// randomVector returns the first vector, so that tests repeat; null for none.
func (a *API) randomVector(c *request.Call) (any, error) {
	page, err := engine.ReadVectors(c.Account, c.Index, vector.RangeRead{Namespace: namespaceOf(c), Limit: 1})
	if err != nil || len(page.Vectors) == 0 {
		return vectorResult(nil), err
	}
	q := selection{IncludeVectors: true, IncludeMetadata: true, IncludeData: true}
	shown, err := (&budget{ctx: c.Request.Context(), left: math.MaxInt64}).shown(&q, page.Vectors[0]) // it had room in a request
	return vectorResult(shown), err
}

func (a *API) resetVectors(c *request.Call) (any, error) {
	_, err := engine.ChangeVectors(c.Account, c.Index, vector.ResetCommand{Namespace: namespaceOf(c), All: c.Flag("all", false)})
	return vectorResult("Success"), err
}

func (a *API) listVectorNamespaces(c *request.Call) (any, error) {
	names, err := engine.ReadVectors(c.Account, c.Index, vector.NamespacesRead{})
	return vectorResult(names), err
}

func (a *API) deleteVectorNamespace(c *request.Call) (any, error) {
	_, err := engine.ChangeVectors(c.Account, c.Index, vector.DeleteNamespaceCommand{Namespace: namespaceOf(c)})
	return vectorResult("Success"), err
}

// renameVectorNamespace refuses an existing name unless deleteExisting is set.
func (a *API) renameVectorNamespace(c *request.Call) (any, error) {
	var body api.NamespaceRename
	if err := request.Unmarshal(c.Body, &body); err != nil {
		return nil, err
	}
	renamed, err := engine.ChangeVectors(c.Account, c.Index, vector.RenameNamespaceCommand{From: body.Namespace, To: body.NewNamespace, Replace: body.DeleteExisting != nil && *body.DeleteExisting})
	return vectorResult(map[string]bool{"renamed": renamed}), err
}
