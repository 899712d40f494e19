package engine

import (
	"slices"

	"github.com/understudy-mock/understudy/engine/vector"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// ChangeVectors runs a command on a vector index.
func ChangeVectors[R any, C vector.Change[R]](a *Account, index string, c C) (R, error) {
	return runCommand(a, changeVectors[R, C]{index, c})
}

// ReadVectors runs a query on a vector index.
func ReadVectors[R any, Q vector.Read[R]](a *Account, index string, q Q) (R, error) {
	a.lock()
	defer a.unlock()
	x, err := a.vectorIndex(index)
	if err != nil {
		var zero R
		return zero, err
	}
	return q.Read(x, a.state.Now)
}

// vectorIndex is the index with this name; one that was never used is created
// from its configuration, and stored only when a command changes it.
func (a *Account) vectorIndex(name string) (*vector.Index, error) {
	if x := a.state.Vectors[name]; x != nil {
		return x, nil
	}
	i := slices.IndexFunc(a.cfg.VectorIndexes, func(c vector.Config) bool { return c.Name == name })
	if i < 0 {
		return nil, refusal.Of(ErrNotFound, "vector index", name, "not found")
	}
	return vector.New(a.cfg.VectorIndexes[i]), nil
}

// changeVectors is a command on an index. It counts the growth of the index in bytes.
type changeVectors[R any, C vector.Change[R]] struct {
	Index  string
	Change C
}

// apply stores an index only when a command has changed it: reading one that
// was never used must not create it.
func (c changeVectors[R, C]) apply(a *Account) (r R, err error) {
	x, err := a.vectorIndex(c.Index)
	if err != nil {
		return r, err
	}
	was := x.Bytes()
	r, err = c.Change.Apply(x, vector.Env{Now: a.state.Now, Lag: a.cfg.VectorLag, Room: a.roomForBytes, NewID: func() string { return a.newID("") }})
	if err != nil {
		return r, err
	}
	a.state.Vectors[c.Index] = x
	a.addWork(x.Bytes() - was)
	return r, nil
}
