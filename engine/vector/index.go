package vector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// The kinds of a vector index and its similarity functions ("Vector index
// information").
const (
	Dense      = "DENSE"
	Sparse     = "SPARSE"
	Hybrid     = "HYBRID"
	Cosine     = "COSINE"
	Euclidean  = "EUCLIDEAN"
	DotProduct = "DOT_PRODUCT"
)

// Config describes an index. If Dimension is 0, the first vector sets it.
type Config struct {
	Name           string
	Type           string
	Dimension      int
	Similarity     string
	EmbeddingModel string
}

// Vector is an entry of an index. Metadata is the JSON that the client sent.
type Vector struct {
	ID       string
	Values   []float32
	Sparse   *SparseVector
	Metadata json.RawMessage
	Data     *string

	ready   time.Time // when it begins to count as ready and queries find it
	earlier []Vector  // the versions before changes that were pending at the latest one, latest first
}

// at returns the version that queries find, nil for none.
func (v *Vector) at(now time.Time) *Vector {
	if v == nil || !v.ready.After(now) {
		return v
	}
	i := slices.IndexFunc(v.earlier, func(was Vector) bool { return !was.ready.After(now) })
	if i < 0 {
		return nil
	}
	return &v.earlier[i]
}

// SparseVector is a vector with values at some indices only.
type SparseVector struct {
	Indices []int32   `json:"indices"`
	Values  []float32 `json:"values"`
}

// Count is the number of vectors in a namespace: ready, and still being processed.
type Count struct {
	Ready   int
	Pending int
}

// Info is the information about an index.
type Info struct {
	Config
	Count
	Size       int64 // bytes
	Namespaces map[string]Count
}

// Index is a vector index.
type Index struct {
	Config
	namespaces map[string]*namespace // by name; the default one, "", always exists
	order      []string              // names in the order of the first upsert
	open       map[string]*resumable // queries by id
	bytes      int64                 // of all namespaces
}

// New returns an empty index.
func New(cfg Config) *Index {
	return &Index{Config: cfg, namespaces: map[string]*namespace{"": newNamespace()}, order: []string{""}}
}

// Bytes is the approximate memory of the vectors of the index.
func (x *Index) Bytes() int64 { return x.bytes }

// Info returns the information about the index ("Get vector index information").
func (x *Index) Info(now time.Time) Info {
	info := Info{Config: x.Config, Namespaces: map[string]Count{}}
	for name, n := range x.namespaces {
		c := n.count(now)
		info.Namespaces[name] = c
		info.Ready += c.Ready
		info.Pending += c.Pending
		info.Size += n.size
	}
	return info
}

// Namespaces lists the namespaces in the order of their first upsert.
func (x *Index) Namespaces() []string { return slices.Clone(x.order) }

// Check returns an error for vectors that the index cannot store together.
func (x *Index) Check(vectors []Vector) error {
	dimension := x.dimensionWith(vectors)
	for i := range vectors {
		if err := x.fits(&vectors[i], dimension); err != nil {
			return err
		}
	}
	return nil
}

// dimensionWith returns the dimension after these vectors are stored: the first one sets it
// if none is configured.
func (x *Index) dimensionWith(vectors []Vector) int {
	if x.Dimension == 0 && x.Type != Sparse && len(vectors) > 0 {
		return len(vectors[0].Values)
	}
	return x.Dimension
}

// fits returns an error for a vector that the index cannot store.
func (x *Index) fits(v *Vector, dimension int) error {
	switch {
	case x.Type != Sparse && len(v.Values) == 0:
		return ownWords(fmt.Sprintf("This index requires dense vectors; vector %q has none", v.ID))
	case x.Type != Dense && v.Sparse == nil:
		return ownWords(fmt.Sprintf("This index requires sparse vectors; vector %q has none", v.ID))
	case x.Type != Sparse && len(v.Values) != dimension:
		return ownWords(fmt.Sprintf("Invalid vector dimension: %d, expected: %d", len(v.Values), dimension))
	}
	return v.Sparse.check()
}

// Upsert stores vectors that Check accepts. They count as ready, and queries find them,
// after the lag. The first upsert to a namespace creates it.
func (x *Index) Upsert(ns string, vectors []Vector, now time.Time, lag time.Duration) {
	x.Dimension = x.dimensionWith(vectors)
	n := x.namespaces[ns]
	if n == nil {
		n = newNamespace()
		x.namespaces[ns] = n
		x.order = append(x.order, ns)
	}
	defer x.addChange(n, n.bytes())
	for _, v := range vectors {
		n.put(&v, now, now.Add(lag))
	}
}

// Update changes parts of a vector and reports whether it exists. patch merges the metadata
// instead of replacing it (RFC 7396).
func (x *Index) Update(ns string, v Vector, patch bool, now time.Time, lag time.Duration) (bool, error) {
	n := x.namespaces[ns]
	if n == nil || n.vectors[v.ID] == nil {
		return false, nil
	}
	changed := *n.vectors[v.ID]
	changed.earlier = nil
	if v.Values != nil {
		changed.Values = v.Values
	}
	if v.Sparse != nil {
		changed.Sparse = v.Sparse
	}
	if v.Data != nil {
		changed.Data = v.Data
	}
	if v.Metadata != nil {
		changed.Metadata = v.Metadata
		if patch {
			changed.Metadata = mergePatch(n.vectors[v.ID].Metadata, v.Metadata)
		}
	}
	if err := x.fits(&changed, x.Dimension); err != nil {
		return false, err
	}
	defer x.addChange(n, n.bytes())
	n.put(&changed, now, now.Add(lag))
	return true, nil
}

// Delete removes vectors by id or by prefix and returns how many were removed.
func (x *Index) Delete(ns string, ids []string, prefix string) int {
	n := x.namespaces[ns]
	if n == nil {
		return 0
	}
	if prefix != "" {
		ids = n.withPrefix(prefix)
	}
	defer x.addChange(n, n.bytes())
	return n.remove(ids)
}

// DeleteWhere removes vectors by their metadata and returns how many were removed.
func (x *Index) DeleteWhere(ns string, filter Filter) int {
	n := x.namespaces[ns]
	if n == nil {
		return 0
	}
	defer x.addChange(n, n.bytes())
	return n.remove(slices.DeleteFunc(slices.Clone(n.order), func(id string) bool { return !filter.Holds(n.vectors[id].Metadata) }))
}

// Fetch returns the vectors with these ids, nil for an unknown one; or those with a prefix.
func (x *Index) Fetch(ns string, ids []string, prefix string) []*Vector {
	n := x.namespaces[ns]
	if n == nil {
		n = &namespace{}
	}
	if prefix != "" {
		ids = n.withPrefix(prefix)
	}
	found := make([]*Vector, len(ids))
	for i, id := range ids {
		found[i] = n.vectors[id]
	}
	return found
}

// Range returns a page of a namespace in the order of insertion; next is -1 at the end.
func (x *Index) Range(ns, prefix string, from, limit int) (page []*Vector, next int) {
	n := x.namespaces[ns]
	if n == nil {
		return nil, -1
	}
	for i := from; i < len(n.order); i++ {
		if !strings.HasPrefix(n.order[i], prefix) {
			continue
		}
		if len(page) == limit {
			return page, i
		}
		page = append(page, n.vectors[n.order[i]])
	}
	return page, -1
}

// Reset empties a namespace, or all of them; they stay in the list.
func (x *Index) Reset(ns string, all bool) {
	for name, n := range x.namespaces {
		if all || name == ns {
			x.bytes -= n.bytes()
			x.namespaces[name] = newNamespace()
		}
	}
}

// DeleteNamespace removes a namespace; the default one stays.
func (x *Index) DeleteNamespace(ns string) error {
	n := x.namespaces[ns]
	switch {
	case ns == "":
		return refusal.Of(refusal.Invalid, "default namespace", "", "cannot be deleted")
	case n == nil:
		return refusal.Of(refusal.NotFound, "Namespace "+ns+" for the index "+x.Name+" does not exist", "", "") // text of the service
	}
	x.bytes -= n.bytes()
	delete(x.namespaces, ns)
	x.order = slices.DeleteFunc(x.order, func(name string) bool { return name == ns })
	return nil
}

// RenameNamespace renames a namespace and reports whether it exists. An existing target is
// an error unless replace is set.
func (x *Index) RenameNamespace(from, to string, replace bool) (bool, error) {
	switch {
	case from == "":
		return false, refusal.Of(refusal.Invalid, "default namespace", "", "cannot be renamed")
	case to == "":
		return false, refusal.OfValue(fmt.Sprintf("new name of namespace %q", from), "", "empty", "a name")
	case x.namespaces[from] == nil:
		return false, nil
	case x.namespaces[to] != nil && !replace:
		return false, refusal.Of(refusal.Exists, "namespace", to, "exists already")
	case from == to:
		return true, nil
	}
	if replaced := x.namespaces[to]; replaced != nil {
		x.bytes -= replaced.bytes()
		x.order = slices.DeleteFunc(x.order, func(name string) bool { return name == to })
	}
	x.namespaces[to] = x.namespaces[from]
	delete(x.namespaces, from)
	x.order[slices.Index(x.order, from)] = to
	return true, nil
}

// addChange adds the difference to was, the bytes of a namespace before a change.
func (x *Index) addChange(n *namespace, was int64) { x.bytes += n.bytes() - was }

// maxSparse is the largest number of indices of a sparse vector.
const maxSparse = 1000

// check returns an error unless every index has one value.
func (s *SparseVector) check() error {
	switch {
	case s == nil:
		return nil
	case len(s.Indices) != len(s.Values):
		return refusal.Of(refusal.Unfit, "sparse vector", "", fmt.Sprintf("%d indices and %d values: must be as many of both", len(s.Indices), len(s.Values)))
	case len(s.Indices) > maxSparse:
		return refusal.Of(refusal.Unfit, "sparse vector", "", fmt.Sprintf("%d indices: must be at most %d", len(s.Indices), maxSparse))
	}
	return nil
}

// mergePatch applies a JSON merge patch (RFC 7396): null removes, objects merge.
func mergePatch(doc, patch json.RawMessage) json.RawMessage {
	var p map[string]json.RawMessage
	if json.Unmarshal(patch, &p) != nil || p == nil {
		return patch
	}
	var d map[string]json.RawMessage
	if json.Unmarshal(doc, &d) != nil || d == nil {
		d = map[string]json.RawMessage{}
	}
	for k, v := range p {
		if string(v) == "null" {
			delete(d, k)
		} else {
			d[k] = mergePatch(d[k], v)
		}
	}
	b, err := json.Marshal(d)
	if err != nil {
		return patch
	}
	return b
}

// ownWords is an error with the text of the service, because clients compare it.
func ownWords(text string) error { return refusal.Of(refusal.Unfit, text, "", "") }
