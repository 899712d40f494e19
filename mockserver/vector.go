package mockserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/understudy-mock/understudy/engine"
)

var _ = register(vectorHandlers())

// vectorHandlers has a row for each method and for the form with a namespace.
func vectorHandlers() map[string]handler {
	rows := map[string]handler{
		"deleteVectorNamespace":       (*Server).deleteVectorNamespace,
		"deleteVectorNamespaceDelete": (*Server).deleteVectorNamespace,
		"getVectorInfo":               (*Server).getVectorInfo,
		"getVectorInfoPost":           (*Server).getVectorInfo,
		"listVectorNamespaces":        (*Server).listVectorNamespaces,
		"listVectorNamespacesPost":    (*Server).listVectorNamespaces,
		"renameVectorNamespace":       (*Server).renameVectorNamespace,
	}
	for _, row := range []struct {
		id      string
		methods []string // beside the first
		h       handler
	}{
		{"deleteVectors", []string{"Delete"}, (*Server).deleteVectors},
		{"fetchVectors", []string{"Get"}, (*Server).fetchVectors},
		{"queryVectorData", []string{"Get"}, (*Server).refuseEmbedding},
		{"queryVectors", []string{"Get"}, (*Server).queryVectors},
		{"randomVector", []string{"Post"}, (*Server).randomVector},
		{"rangeVectors", []string{"Get"}, (*Server).rangeVectors},
		{"resetVectors", []string{"Delete"}, (*Server).resetVectors},
		{"updateVector", []string{"Put"}, (*Server).updateVector},
		{"upsertVectorData", []string{"Put"}, (*Server).refuseEmbedding},
		{"upsertVectors", []string{"Put"}, (*Server).upsertVectors},
	} {
		for _, id := range []string{row.id, row.id + "In"} {
			rows[id] = row.h
			for _, method := range row.methods {
				rows[id+method] = row.h
			}
		}
	}
	return rows
}

// indexRoot is where vector indexes have URLs of their own: /index/NAME takes
// the place of the vector host's root.
const indexRoot = "/index/"

// indexPath takes the index out of the path.
func (c *call) indexPath() {
	rest, ok := strings.CutPrefix(c.request.URL.EscapedPath(), indexRoot)
	if !ok {
		return
	}
	name, path, _ := strings.Cut(rest, "/")
	plain, err := url.PathUnescape(name)
	if err != nil {
		return
	}
	r, u := *c.request, *c.request.URL
	u.RawPath = "/" + path
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return
	}
	r.URL, c.request, c.asked = &u, &r, plain
}

// VectorIndexURL is the URL of one vector index; clients take it in place of
// VectorURL, whose index the token picks.
func (s *Server) VectorIndexURL(name string) string {
	return s.VectorURL() + indexRoot + url.PathEscape(name)
}

// vectorEnv names the URL and the token of each configured index.
func (s *Server) vectorEnv(w *world) (vars []EnvVar) {
	w.opening.Lock()
	defer w.opening.Unlock()
	if len(w.indexes) < 2 {
		return nil
	}
	for _, x := range w.indexes {
		name := "VECTOR_" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return unicode.ToUpper(r)
			}
			return '_'
		}, x.name)
		vars = append(vars, EnvVar{name + "_URL", s.VectorIndexURL(x.name)}, EnvVar{name + "_TOKEN", x.token})
	}
	return vars
}

// ParseVectorIndex reads NAME=TYPE[:DIMENSION[:FUNCTION]], such as
// docs=DENSE:1536:COSINE, words=SPARSE or both=HYBRID:384:DOT_PRODUCT.
func ParseVectorIndex(text string) (engine.VectorConfig, error) {
	const accepted = "accepted is NAME=TYPE[:DIMENSION[:FUNCTION]], TYPE one of DENSE, SPARSE and HYBRID, FUNCTION one of COSINE, EUCLIDEAN and DOT_PRODUCT"
	name, kind, ok := strings.Cut(text, "=")
	parts := strings.Split(kind, ":")
	x := engine.VectorConfig{Name: name, Type: parts[0], Similarity: engine.Cosine}
	if !ok || !plainName.MatchString(name) || len(parts) > 3 || !slices.Contains([]string{engine.Dense, engine.Sparse, engine.Hybrid}, x.Type) {
		return x, fmt.Errorf("vector index %q: %s", text, accepted)
	}
	if len(parts) > 1 {
		n, err := strconv.Atoi(parts[1])
		if err != nil || n < 1 || n > 1<<16 {
			return x, fmt.Errorf("vector index %q: dimension %q: a whole number from 1 to 65536", text, parts[1])
		}
		x.Dimension = n
	}
	if len(parts) > 2 {
		if x.Similarity = parts[2]; !slices.Contains([]string{engine.Cosine, engine.Euclidean, engine.DotProduct}, x.Similarity) {
			return x, fmt.Errorf("vector index %q: function %q: %s", text, parts[2], accepted)
		}
	}
	if x.Type == engine.Sparse && len(parts) > 1 {
		return x, fmt.Errorf("vector index %q: a SPARSE index has neither dimension nor function", text)
	}
	return x, nil
}

// result is the envelope of every answer of the vector host.
func result(v any) reply { return reply{body: map[string]any{"result": v}} }

func (s *Server) getVectorInfo(c *call) (reply, error) {
	info, err := c.account.VectorInfo(c.index)
	if err != nil {
		return reply{}, err
	}
	return result(infoBody(&info)), nil
}

// infoBody is the table "Vector index information".
func infoBody(v *engine.VectorInfo) map[string]any {
	namespaces := map[string]any{}
	for name, n := range v.Namespaces {
		namespaces[name] = map[string]int{"vectorCount": n.Ready, "pendingVectorCount": n.Pending}
	}
	out := map[string]any{
		"vectorCount": v.Ready, "pendingVectorCount": v.Pending, "indexSize": v.Size,
		"dimension": v.Dimension, "similarityFunction": v.Similarity, "indexType": v.Type, "namespaces": namespaces,
	}
	if v.Type != engine.Sparse {
		out["denseIndex"] = map[string]any{"dimension": v.Dimension, "similarityFunction": v.Similarity, "embeddingModel": v.EmbeddingModel}
	}
	if v.Type != engine.Dense {
		out["sparseIndex"] = map[string]any{"embeddingModel": v.EmbeddingModel}
	}
	return out
}

// numbers are components on the wire. A null, which is how JavaScript writes
// NaN and infinity, is no number.
type numbers []float32

func (n *numbers) UnmarshalJSON(raw []byte) error {
	if at := bytes.Index(raw, []byte("null")); at > 0 {
		return fmt.Errorf("vector component %d is null; accepted are finite numbers", bytes.Count(raw[:at], []byte(",")))
	}
	return json.Unmarshal(raw, (*[]float32)(n))
}

// sparseJSON is a sparse vector on the wire.
type sparseJSON struct {
	Indices []int32 `json:"indices"`
	Values  numbers `json:"values"`
}

func (v *sparseJSON) vector() *engine.SparseVector {
	if v == nil {
		return nil
	}
	return &engine.SparseVector{Indices: v.Indices, Values: v.Values}
}

// vectorJSON is a vector on the wire. An id may be a number; it comes back as
// a string.
type vectorJSON struct {
	ID       json.RawMessage `json:"id"`
	Vector   numbers         `json:"vector"`
	Sparse   *sparseJSON     `json:"sparseVector"`
	Metadata json.RawMessage `json:"metadata"`
	Data     *string         `json:"data"`
	Mode     string          `json:"metadataUpdateMode"`
}

func (v *vectorJSON) vector() engine.Vector {
	if bytes.Equal(v.Metadata, []byte("null")) {
		v.Metadata = nil
	}
	return engine.Vector{ID: idText(v.ID), Values: v.Vector, Sparse: v.Sparse.vector(), Metadata: v.Metadata, Data: v.Data}
}

// idText is a string's text, or the digits of a number.
func idText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// oneOrMany reads one object, or a list of them.
func oneOrMany[T any](body []byte) ([]T, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		var list []T
		return list, unmarshal(body, &list)
	}
	var one T
	err := unmarshal(body, &one)
	return []T{one}, err
}

// unmarshal reads JSON and says at which position it breaks.
func unmarshal(body []byte, to any) error {
	if err := json.Unmarshal(body, to); err != nil {
		return invalid("body: invalid JSON: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func (s *Server) upsertVectors(c *call) (reply, error) {
	list, err := oneOrMany[vectorJSON](c.body)
	if err != nil {
		return reply{}, err
	}
	vectors := make([]engine.Vector, len(list))
	for i := range list {
		vectors[i] = list[i].vector()
	}
	return result("Success"), c.account.UpsertVectors(c.index, c.vars["namespace"], vectors)
}

func (s *Server) refuseEmbedding(*call) (reply, error) {
	return reply{}, fmt.Errorf("Embedding data for this index is not allowed. The index must be created with an embedding model to use it.: %w", engine.ErrUnfit) //nolint:staticcheck // the service's own words
}

func (s *Server) updateVector(c *call) (reply, error) {
	var body vectorJSON
	if err := unmarshal(c.body, &body); err != nil {
		return reply{}, err
	}
	updated, err := c.account.UpdateVector(c.index, c.vars["namespace"], body.vector(), body.Mode == "PATCH")
	n := 0
	if updated {
		n = 1
	}
	return result(map[string]int{"updated": n}), err
}

// selection is which vectors an operation is about, and what it shows of them.
type selection struct {
	IDs             []json.RawMessage `json:"ids"`
	Prefix          string            `json:"prefix"`
	Filter          string            `json:"filter"`
	IncludeVectors  bool              `json:"includeVectors"`
	IncludeMetadata bool              `json:"includeMetadata"`
	IncludeData     bool              `json:"includeData"`
	Cursor          json.RawMessage   `json:"cursor"`
	Limit           int               `json:"limit"`
	Vector          numbers           `json:"vector"`
	Sparse          *sparseJSON       `json:"sparseVector"`
	TopK            *int              `json:"topK"`
	Fusion          string            `json:"fusionAlgorithm"`
	Mode            string            `json:"queryMode"`
	Weighting       string            `json:"weightingStrategy"`
}

func (q *selection) ids() []string {
	ids := make([]string, len(q.IDs))
	for i, raw := range q.IDs {
		ids[i] = idText(raw)
	}
	return ids
}

// refuse names what is not built: the service's own filter language.
func (q *selection) refuse() error {
	if q.Filter != "" {
		return invalid("filter: metadata filters are not supported here; accepted are ids and prefix")
	}
	return nil
}

// shown is a vector as an answer has it: absent rather than empty.
func (q *selection) shown(v *engine.Vector) map[string]any {
	out := map[string]any{"id": v.ID}
	if q.IncludeVectors {
		if v.Values != nil {
			out["vector"] = v.Values
		}
		if v.Sparse != nil {
			out["sparseVector"] = v.Sparse
		}
	}
	if q.IncludeMetadata && v.Metadata != nil {
		out["metadata"] = v.Metadata
	}
	if q.IncludeData && v.Data != nil {
		out["data"] = *v.Data
	}
	return out
}

// deleteVectors takes its three forms: an object, a list of ids, the bare text
// of one id (wire facts on vectors, section A4).
func (s *Server) deleteVectors(c *call) (reply, error) {
	var q selection
	body := bytes.TrimSpace(c.body)
	var err error
	switch {
	case bytes.HasPrefix(body, []byte("{")):
		err = unmarshal(body, &q)
	case bytes.HasPrefix(body, []byte("[")):
		err = unmarshal(body, &q.IDs)
	case len(body) > 0:
		q.IDs = []json.RawMessage{body}
	}
	if err == nil {
		err = q.refuse()
	}
	if err == nil && (len(q.IDs) > 0) == (q.Prefix != "") {
		err = invalid("Only and only one of the ids, prefix, or filter must be provided.")
	}
	if err != nil {
		return reply{}, err
	}
	n, err := c.account.DeleteVectors(c.index, c.vars["namespace"], q.ids(), q.Prefix)
	return result(map[string]int{"deleted": n}), err
}

// maxPrefix is how many vectors a prefix fetches at most.
const maxPrefix = 1000

func (s *Server) fetchVectors(c *call) (reply, error) {
	var q selection
	if err := unmarshal(c.body, &q); err != nil {
		return reply{}, err
	}
	if len(q.IDs) > 0 && q.Prefix != "" {
		return reply{}, invalid("Only one of ids or prefix must be provided.")
	}
	found, err := c.account.FetchVectors(c.index, c.vars["namespace"], q.ids(), q.Prefix)
	list := make([]any, 0, len(found))
	for _, v := range found[:min(len(found), max(maxPrefix, len(q.IDs)))] {
		if v == nil {
			list = append(list, nil)
		} else {
			list = append(list, q.shown(v))
		}
	}
	return result(list), err
}

// defaultTopK is how many vectors a query finds unless it says otherwise.
const defaultTopK = 10

func (s *Server) queryVectors(c *call) (reply, error) {
	queries, err := oneOrMany[selection](c.body)
	if err != nil {
		return reply{}, err
	}
	all := make([]any, len(queries))
	for i := range queries {
		q := &queries[i]
		if err := q.refuse(); err != nil {
			return reply{}, err
		}
		k := defaultTopK
		if q.TopK != nil {
			k = *q.TopK
		}
		if k < 1 || q.Weighting != "" {
			return reply{}, invalid("query: accepted are topK from 1 up, and no weightingStrategy, which is not supported here")
		}
		found, err := c.account.QueryVectors(c.index, c.vars["namespace"], engine.VectorQuery{Values: q.Vector, Sparse: q.Sparse.vector(), TopK: k, Mode: q.Mode, Fusion: q.Fusion})
		if err != nil {
			return reply{}, err
		}
		list := make([]any, len(found))
		for j, f := range found {
			shown := q.shown(f.Vector)
			shown["score"] = float32(f.Score)
			list[j] = shown
		}
		all[i] = list
	}
	if len(all) == 1 {
		return result(all[0]), nil
	}
	return result(all), nil
}

func (s *Server) rangeVectors(c *call) (reply, error) {
	var q selection
	if len(bytes.TrimSpace(c.body)) > 0 {
		if err := unmarshal(c.body, &q); err != nil {
			return reply{}, err
		}
	}
	from := 0
	if cursor := idText(q.Cursor); cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil || n < 0 {
			return reply{}, invalid(fmt.Sprintf("cursor %.40q: accepted is the nextCursor of an earlier range, or 0", cursor))
		}
		from = n
	}
	if q.Limit == 0 {
		q.Limit = maxPrefix
	}
	page, next, err := c.account.RangeVectors(c.index, c.vars["namespace"], q.Prefix, from, q.Limit)
	list := make([]any, len(page))
	for i, v := range page {
		list[i] = q.shown(v)
	}
	cursor := ""
	if next >= 0 {
		cursor = strconv.Itoa(next)
	}
	return result(map[string]any{"nextCursor": cursor, "vectors": list}), err
}

func (s *Server) randomVector(c *call) (reply, error) {
	page, _, err := c.account.RangeVectors(c.index, c.vars["namespace"], "", 0, 1)
	if err != nil || len(page) == 0 {
		return result(nil), err
	}
	q := selection{IncludeVectors: true, IncludeMetadata: true, IncludeData: true}
	return result(q.shown(page[0])), nil
}

func (s *Server) resetVectors(c *call) (reply, error) {
	return result("Success"), c.account.ResetVectors(c.index, c.vars["namespace"], c.flag("all", false))
}

func (s *Server) listVectorNamespaces(c *call) (reply, error) {
	names, err := c.account.VectorNamespaces(c.index)
	return result(names), err
}

func (s *Server) deleteVectorNamespace(c *call) (reply, error) {
	return result("Success"), c.account.DeleteVectorNamespace(c.index, c.vars["namespace"])
}

func (s *Server) renameVectorNamespace(c *call) (reply, error) {
	var body struct {
		Namespace      string `json:"namespace"`
		NewNamespace   string `json:"newNamespace"`
		DeleteExisting bool   `json:"deleteExisting"`
	}
	if err := unmarshal(c.body, &body); err != nil {
		return reply{}, err
	}
	renamed, err := c.account.RenameVectorNamespace(c.index, body.Namespace, body.NewNamespace, body.DeleteExisting)
	return result(map[string]bool{"renamed": renamed}), err
}
