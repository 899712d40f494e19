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

// ReadVectors asks a vector index.
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

// vectorIndex is the index with that name, as it was configured if it was never
// used. changeVectors keeps one that a command has changed.
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

// changeVectors is a command on an index. It counts what the index has gained.
type changeVectors[R any, C vector.Change[R]] struct {
	Index  string
	Change C
}

// apply keeps an index only once a command has changed it: asking for one that was never
// used must not create it.
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
