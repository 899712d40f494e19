package engine

import (
	"fmt"
	"slices"

	"github.com/understudy-mock/understudy/engine/vector"
)

// vectorIndex is the index with that name, as it was configured if it was never
// used. changeIndex keeps one that a command has changed.
func (a *Account) vectorIndex(name string) (*vector.Index, error) {
	if x := a.vectors[name]; x != nil {
		return x, nil
	}
	i := slices.IndexFunc(a.cfg.VectorIndexes, func(c vector.Config) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("vector index %q: not found: %w", name, ErrNotFound)
	}
	return vector.New(a.cfg.VectorIndexes[i]), nil
}

// changeIndex runs a change of an index and counts what the index has gained.
func (a *Account) changeIndex(name string, change func(*vector.Index) error) error {
	x, err := a.vectorIndex(name)
	if err != nil {
		return err
	}
	was := x.Bytes()
	if err := change(x); err != nil {
		return err
	}
	a.vectors[name] = x
	a.addWork(x.Bytes() - was)
	return nil
}

// VectorInfo is the information about an index ("Get vector index information").
func (a *Account) VectorInfo(index string) (vector.Info, error) {
	a.lock()
	defer a.unlock()
	x, err := a.vectorIndex(index)
	if err != nil {
		return vector.Info{}, err
	}
	return x.Info(a.now), nil
}

// VectorNamespaces lists the namespaces in the order of their first upsert.
func (a *Account) VectorNamespaces(index string) ([]string, error) {
	a.lock()
	defer a.unlock()
	x, err := a.vectorIndex(index)
	if err != nil {
		return nil, err
	}
	return x.Namespaces(), nil
}

// UpsertVectors stores vectors: all of them, or none when one does not fit. A
// namespace is created by its first upsert.
func (a *Account) UpsertVectors(index, ns string, vectors []vector.Vector) error {
	return done(do(a, upsertVectors{index, ns, vectors}))
}

type upsertVectors struct {
	Index     string
	Namespace string
	Vectors   []vector.Vector
}

func (c upsertVectors) apply(a *Account) (nothing, error) {
	return nothing{}, a.changeIndex(c.Index, func(x *vector.Index) error {
		if err := x.Check(c.Vectors); err != nil {
			return err
		}
		if err := a.roomForBytes(vector.Bytes(c.Vectors)); err != nil {
			return err
		}
		x.Upsert(c.Namespace, c.Vectors, a.now, a.cfg.VectorLag)
		return nil
	})
}

// DeleteVectors removes vectors by id or by prefix and returns how many there were.
func (a *Account) DeleteVectors(index, ns string, ids []string, prefix string) (int, error) {
	return do(a, deleteVectors{index, ns, ids, prefix})
}

type deleteVectors struct {
	Index     string
	Namespace string
	IDs       []string
	Prefix    string
}

func (c deleteVectors) apply(a *Account) (deleted int, err error) {
	err = a.changeIndex(c.Index, func(x *vector.Index) error {
		deleted = x.Delete(c.Namespace, c.IDs, c.Prefix)
		return nil
	})
	return deleted, err
}

// DeleteVectorsWhere removes vectors by their metadata and returns how many there were.
func (a *Account) DeleteVectorsWhere(index, ns string, filter vector.Filter) (int, error) {
	return do(a, deleteVectorsWhere{index, ns, filter})
}

type deleteVectorsWhere struct {
	Index     string
	Namespace string
	Filter    vector.Filter
}

func (c deleteVectorsWhere) apply(a *Account) (deleted int, err error) {
	err = a.changeIndex(c.Index, func(x *vector.Index) error {
		deleted = x.DeleteWhere(c.Namespace, c.Filter)
		return nil
	})
	return deleted, err
}

// FetchVectors gives the vectors with these ids, nil for an unknown one; or
// those with a prefix.
func (a *Account) FetchVectors(index, ns string, ids []string, prefix string) ([]*vector.Vector, error) {
	a.lock()
	defer a.unlock()
	x, err := a.vectorIndex(index)
	if err != nil {
		return nil, err
	}
	return x.Fetch(ns, ids, prefix), nil
}

// RangeVectors walks a namespace in the order of insertion; next is -1 at the end.
func (a *Account) RangeVectors(index, ns, prefix string, from, limit int) (page []*vector.Vector, next int, err error) {
	a.lock()
	defer a.unlock()
	x, err := a.vectorIndex(index)
	if err != nil {
		return nil, -1, err
	}
	page, next = x.Range(ns, prefix, from, limit)
	return page, next, nil
}

// UpdateVector changes parts of a vector and reports whether there was one.
// patch merges the metadata instead of replacing it (RFC 7396).
func (a *Account) UpdateVector(index, ns string, v vector.Vector, patch bool) (bool, error) {
	return do(a, updateVector{index, ns, v, patch})
}

type updateVector struct {
	Index     string
	Namespace string
	Vector    vector.Vector
	Patch     bool
}

func (c updateVector) apply(a *Account) (updated bool, err error) {
	err = a.changeIndex(c.Index, func(x *vector.Index) (err error) {
		updated, err = x.Update(c.Namespace, c.Vector, c.Patch, a.now, a.cfg.VectorLag)
		return err
	})
	return updated, err
}

// ResetVectors empties a namespace, or all of them; they stay listed.
func (a *Account) ResetVectors(index, ns string, all bool) error {
	return done(do(a, resetVectors{index, ns, all}))
}

type resetVectors struct {
	Index     string
	Namespace string
	All       bool
}

func (c resetVectors) apply(a *Account) (nothing, error) {
	return nothing{}, a.changeIndex(c.Index, func(x *vector.Index) error {
		x.Reset(c.Namespace, c.All)
		return nil
	})
}

// DeleteVectorNamespace removes a namespace; the default one stays.
func (a *Account) DeleteVectorNamespace(index, ns string) error {
	return done(do(a, deleteVectorNamespace{index, ns}))
}

type deleteVectorNamespace struct {
	Index     string
	Namespace string
}

func (c deleteVectorNamespace) apply(a *Account) (nothing, error) {
	return nothing{}, a.changeIndex(c.Index, func(x *vector.Index) error { return x.DeleteNamespace(c.Namespace) })
}

// RenameVectorNamespace gives a namespace another name and reports whether
// there was one. An existing target is an error unless it may be replaced.
func (a *Account) RenameVectorNamespace(index, from, to string, replace bool) (bool, error) {
	return do(a, renameVectorNamespace{index, from, to, replace})
}

type renameVectorNamespace struct {
	Index   string
	From    string
	To      string
	Replace bool
}

func (c renameVectorNamespace) apply(a *Account) (renamed bool, err error) {
	err = a.changeIndex(c.Index, func(x *vector.Index) (err error) {
		renamed, err = x.RenameNamespace(c.From, c.To, c.Replace)
		return err
	})
	return renamed, err
}

// QueryVectors compares with every ready vector: exact, no approximation.
func (a *Account) QueryVectors(index, ns string, q vector.Query) ([]vector.Scored, error) {
	a.lock()
	defer a.unlock()
	x, err := a.vectorIndex(index)
	if err != nil {
		return nil, err
	}
	return x.Query(ns, q, a.now)
}

// StartResumable runs a query and keeps its further results until it ends or is
// idle for too long.
func (a *Account) StartResumable(index, ns string, q vector.ResumableQuery) (id string, first []vector.Scored, err error) {
	return both(do(a, startResumable{index, ns, q}))
}

type startResumable struct {
	Index     string
	Namespace string
	Query     vector.ResumableQuery
}

func (c startResumable) apply(a *Account) (p pair[string, []vector.Scored], err error) {
	err = a.changeIndex(c.Index, func(x *vector.Index) (err error) {
		p.first, p.second, err = x.Start(c.Namespace, c.Query, func() string { return a.newID("") }, a.now)
		return err
	})
	return p, err
}

// NextResumable gives the next results of a resumable query.
func (a *Account) NextResumable(index, id string, k int) (next []vector.Scored, shown vector.Parts, err error) {
	return both(do(a, nextResumable{index, id, k}))
}

type nextResumable struct {
	Index string
	ID    string
	Count int
}

func (c nextResumable) apply(a *Account) (p pair[[]vector.Scored, vector.Parts], err error) {
	err = a.changeIndex(c.Index, func(x *vector.Index) (err error) {
		p.first, p.second, err = x.Next(c.ID, c.Count, a.now)
		return err
	})
	return p, err
}

// EndResumable ends a resumable query.
func (a *Account) EndResumable(index, id string) error { return done(do(a, endResumable{index, id})) }

type endResumable struct {
	Index string
	ID    string
}

func (c endResumable) apply(a *Account) (nothing, error) {
	return nothing{}, a.changeIndex(c.Index, func(x *vector.Index) error { return x.End(c.ID, a.now) })
}
