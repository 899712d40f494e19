package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
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

// VectorConfig describes a vector index. Dimension 0 means that the first
// vector decides.
type VectorConfig struct {
	Name           string
	Type           string
	Dimension      int
	Similarity     string
	EmbeddingModel string
}

// Vector is an entry of an index. Metadata is JSON, kept as it came.
type Vector struct {
	ID       string
	Values   []float32
	Sparse   *SparseVector
	Metadata json.RawMessage
	Data     *string

	ready time.Time // from when on it counts and is found
}

// SparseVector has values at some indices only.
type SparseVector struct {
	Indices []int32   `json:"indices"`
	Values  []float32 `json:"values"`
}

// VectorCount is what a namespace holds: ready, and still being processed.
type VectorCount struct {
	Ready   int
	Pending int
}

// VectorInfo is the information about an index.
type VectorInfo struct {
	VectorConfig
	VectorCount
	Size       int64 // bytes
	Namespaces map[string]VectorCount
}

type vectorIndex struct {
	VectorConfig
	namespaces map[string]*namespace // the default one, "", is always there
	order      []string              // of their first upsert
	open       map[string]*resumable // queries by id
}

type namespace struct {
	vectors map[string]*Vector
	order   []string      // of insertion
	waiting fifo[*Vector] // those that were not ready at the latest change, by their time
	size    int64
}

func newVectorIndex(cfg VectorConfig) *vectorIndex {
	return &vectorIndex{VectorConfig: cfg, namespaces: map[string]*namespace{"": {vectors: map[string]*Vector{}}}, order: []string{""}}
}

// index is the index with that name, as it was configured if it was never used.
// A command that puts something there puts it into a.vectors as well.
func (a *Account) index(name string) (*vectorIndex, error) {
	if x := a.vectors[name]; x != nil {
		return x, nil
	}
	i := slices.IndexFunc(a.cfg.VectorIndexes, func(c VectorConfig) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("vector index %q: no such index: %w", name, ErrNotFound)
	}
	return newVectorIndex(a.cfg.VectorIndexes[i]), nil
}

// pending visits the vectors that are not ready, in the order of their change.
func (n *namespace) pending(now time.Time, visit func(*Vector)) {
	n.waiting.all(func(v *Vector) {
		if n.vectors[v.ID] == v && v.ready.After(now) {
			visit(v)
		}
	})
}

func (n *namespace) count(now time.Time) VectorCount {
	c := VectorCount{Ready: len(n.vectors)}
	n.pending(now, func(*Vector) { c.Ready, c.Pending = c.Ready-1, c.Pending+1 })
	return c
}

// VectorInfo is the information about an index ("Get vector index information").
func (a *Account) VectorInfo(index string) (VectorInfo, error) {
	a.lock()
	defer a.unlock()
	x, err := a.index(index)
	if err != nil {
		return VectorInfo{}, err
	}
	info := VectorInfo{VectorConfig: x.VectorConfig, Namespaces: map[string]VectorCount{}}
	for name, n := range x.namespaces {
		c := n.count(a.now)
		info.Namespaces[name] = c
		info.Ready += c.Ready
		info.Pending += c.Pending
		info.Size += n.size
	}
	return info, nil
}

// VectorNamespaces lists the namespaces in the order of their first upsert.
func (a *Account) VectorNamespaces(index string) ([]string, error) {
	a.lock()
	defer a.unlock()
	x, err := a.index(index)
	if err != nil {
		return nil, err
	}
	return slices.Clone(x.order), nil
}

// UpsertVectors stores vectors: all of them, or none when one does not fit. A
// namespace comes into being with its first upsert.
func (a *Account) UpsertVectors(index, ns string, vectors []Vector) error {
	a.lock()
	defer a.unlock()
	x, err := a.index(index)
	if err != nil {
		return err
	}
	dimension := x.Dimension
	for i := range vectors {
		if dimension == 0 && x.Type != Sparse {
			dimension = len(vectors[i].Values)
		}
		if err := x.fits(&vectors[i], dimension); err != nil {
			return err
		}
	}
	if err := a.roomForVectors(vectors); err != nil {
		return err
	}
	a.vectors[index], x.Dimension = x, dimension
	n := x.namespaces[ns]
	if n == nil {
		n = &namespace{vectors: map[string]*Vector{}}
		x.namespaces[ns] = n
		x.order = append(x.order, ns)
	}
	defer a.addChange(n, n.weight())
	for i := range vectors {
		n.put(&vectors[i], a.now, a.now.Add(a.cfg.VectorLag))
	}
	return nil
}

// fits refuses a vector that the index cannot hold.
func (x *vectorIndex) fits(v *Vector, dimension int) error {
	switch {
	case x.Type != Sparse && len(v.Values) == 0:
		return fmt.Errorf("This index requires dense vectors; vector %q has none: %w", v.ID, ErrUnfit) //nolint:staticcheck // the service's own words
	case x.Type != Dense && v.Sparse == nil:
		return fmt.Errorf("This index requires sparse vectors; vector %q has none: %w", v.ID, ErrUnfit) //nolint:staticcheck // the service's own words
	case x.Type != Sparse && len(v.Values) != dimension:
		return fmt.Errorf("Invalid vector dimension: %d, expected: %d: %w", len(v.Values), dimension, ErrUnfit) //nolint:staticcheck // the service's own words
	}
	return v.Sparse.check()
}

// maxSparse is how many indices a sparse vector may have.
const maxSparse = 1000

// check refuses what is no vector: every index has one value.
func (s *SparseVector) check() error {
	switch {
	case s == nil:
		return nil
	case len(s.Indices) != len(s.Values):
		return fmt.Errorf("sparse vector: %d indices and %d values; the numbers must be equal: %w", len(s.Indices), len(s.Values), ErrUnfit)
	case len(s.Indices) > maxSparse:
		return fmt.Errorf("sparse vector: %d indices; must be at most %d: %w", len(s.Indices), maxSparse, ErrUnfit)
	}
	return nil
}

func (v *Vector) size() int64 {
	n := len(v.ID) + 4*len(v.Values) + len(v.Metadata)
	if v.Sparse != nil {
		n += 8 * len(v.Sparse.Indices)
	}
	if v.Data != nil {
		n += len(*v.Data)
	}
	return int64(n)
}

// put stores a vector in place of the one with its id.
func (n *namespace) put(v *Vector, now, ready time.Time) {
	if old := n.vectors[v.ID]; old != nil {
		n.take(old)
	} else {
		n.order = append(n.order, v.ID)
	}
	v.ready = ready
	v.Sparse = v.Sparse.summed()
	n.vectors[v.ID] = v
	n.size += v.size()
	for n.waiting.len() > 0 && !n.waiting.items[n.waiting.head].ready.After(now) {
		n.waiting.pop()
	}
	if ready.After(now) {
		n.waiting.push(v)
	}
}

// take removes a vector from the counts and the map; its place in the order stays.
func (n *namespace) take(v *Vector) {
	n.size -= v.size()
	delete(n.vectors, v.ID)
}

// DeleteVectors removes vectors by id or by prefix and says how many there were.
func (a *Account) DeleteVectors(index, ns string, ids []string, prefix string) (int, error) {
	a.lock()
	defer a.unlock()
	n, err := a.space(index, ns)
	if err != nil || n == nil {
		return 0, err
	}
	if prefix != "" {
		ids = n.withPrefix(prefix)
	}
	defer a.addChange(n, n.weight())
	return n.remove(ids), nil
}

// DeleteVectorsWhere removes vectors by their metadata and says how many there were.
func (a *Account) DeleteVectorsWhere(index, ns string, filter VectorFilter) (int, error) {
	a.lock()
	defer a.unlock()
	n, err := a.space(index, ns)
	if err != nil || n == nil {
		return 0, err
	}
	defer a.addChange(n, n.weight())
	return n.remove(slices.DeleteFunc(slices.Clone(n.order), func(id string) bool { return !filter.Holds(n.vectors[id].Metadata) })), nil
}

// remove removes vectors by id and says how many there were.
func (n *namespace) remove(ids []string) (deleted int) {
	for _, id := range ids {
		if v := n.vectors[id]; v != nil {
			n.take(v)
			deleted++
		}
	}
	if deleted > 0 {
		n.order = slices.DeleteFunc(n.order, func(id string) bool { return n.vectors[id] == nil })
	}
	return deleted
}

// space is a namespace, nil when nothing was ever put there.
func (a *Account) space(index, ns string) (*namespace, error) {
	x, err := a.index(index)
	if err != nil {
		return nil, err
	}
	return x.namespaces[ns], nil
}

func (n *namespace) withPrefix(prefix string) []string {
	var ids []string
	for _, id := range n.order {
		if strings.HasPrefix(id, prefix) {
			ids = append(ids, id)
		}
	}
	return ids
}

// FetchVectors gives the vectors with these ids, nil for an unknown one; or
// those with a prefix.
func (a *Account) FetchVectors(index, ns string, ids []string, prefix string) ([]*Vector, error) {
	a.lock()
	defer a.unlock()
	n, err := a.space(index, ns)
	if err != nil {
		return nil, err
	}
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
	return found, nil
}

// RangeVectors walks a namespace in the order of insertion; next is -1 at the end.
func (a *Account) RangeVectors(index, ns, prefix string, from, limit int) (page []*Vector, next int, err error) {
	a.lock()
	defer a.unlock()
	n, err := a.space(index, ns)
	if err != nil || n == nil {
		return nil, -1, err
	}
	for i := from; i < len(n.order); i++ {
		if !strings.HasPrefix(n.order[i], prefix) {
			continue
		}
		if len(page) == limit {
			return page, i, nil
		}
		page = append(page, n.vectors[n.order[i]])
	}
	return page, -1, nil
}

// UpdateVector changes parts of a vector and reports whether there was one.
// patch merges the metadata instead of replacing it (RFC 7396).
func (a *Account) UpdateVector(index, ns string, v Vector, patch bool) (bool, error) {
	a.lock()
	defer a.unlock()
	n, err := a.space(index, ns)
	if err != nil || n == nil || n.vectors[v.ID] == nil {
		return false, err
	}
	changed := *n.vectors[v.ID]
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
	x := a.vectors[index]
	if err := x.fits(&changed, x.Dimension); err != nil {
		return false, err
	}
	defer a.addChange(n, n.weight())
	n.put(&changed, a.now, a.now.Add(a.cfg.VectorLag))
	return true, nil
}

// mergePatch lays a patch over JSON: null removes, objects merge.
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

// ResetVectors empties a namespace, or all of them; they stay listed.
func (a *Account) ResetVectors(index, ns string, all bool) error {
	a.lock()
	defer a.unlock()
	x, err := a.index(index)
	if err != nil {
		return err
	}
	for name := range x.namespaces {
		if all || name == ns {
			a.addWork(-x.namespaces[name].weight())
			x.namespaces[name] = &namespace{vectors: map[string]*Vector{}}
		}
	}
	return nil
}

// DeleteVectorNamespace removes a namespace; the default one stays.
func (a *Account) DeleteVectorNamespace(index, ns string) error {
	a.lock()
	defer a.unlock()
	x, err := a.index(index)
	if err != nil {
		return err
	}
	if ns == "" {
		return fmt.Errorf("the default namespace cannot be deleted: %w", ErrInvalid)
	}
	if x.namespaces[ns] == nil {
		return fmt.Errorf("Namespace %s for the index %s does not exist: %w", ns, index, ErrNotFound) //nolint:staticcheck // the service's own words
	}
	a.addWork(-x.namespaces[ns].weight())
	delete(x.namespaces, ns)
	x.order = slices.DeleteFunc(x.order, func(name string) bool { return name == ns })
	return nil
}

// RenameVectorNamespace gives a namespace another name and reports whether
// there was one. An existing target is an error unless it may be replaced.
func (a *Account) RenameVectorNamespace(index, from, to string, replace bool) (bool, error) {
	a.lock()
	defer a.unlock()
	x, err := a.index(index)
	if err != nil {
		return false, err
	}
	if from == "" {
		return false, fmt.Errorf("the default namespace cannot be renamed: %w", ErrInvalid)
	}
	if to == "" {
		return false, fmt.Errorf("the new name of namespace %q is empty; accepted is one that is not: %w", from, ErrInvalid)
	}
	if x.namespaces[from] == nil {
		return false, nil
	}
	if x.namespaces[to] != nil && !replace {
		return false, fmt.Errorf("namespace %q: %w", to, ErrExists)
	}
	x.order = slices.DeleteFunc(x.order, func(name string) bool { return name == to })
	x.namespaces[to] = x.namespaces[from]
	delete(x.namespaces, from)
	x.order[slices.Index(x.order, from)] = to
	return true, nil
}
