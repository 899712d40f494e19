package vector

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Query is a search for the nearest vectors.
type Query struct {
	Values []float32
	Sparse *SparseVector
	TopK   int
	Mode   string // for a hybrid index: HYBRID (default), DENSE, SPARSE
	Fusion string // RRF (default) or DBSF
	IDF    bool   // weight the sparse part by inverse document frequency
	Filter Filter
}

// Scored is a vector and its score, 0 to 1 for dense vectors.
type Scored struct {
	*Vector
	Score float64
}

// Query compares with every ready vector, so the result is exact, and returns the best first.
func (x *Index) Query(ns string, q Query, now time.Time) ([]Scored, error) {
	mode, err := x.mode(&q)
	if err != nil {
		return nil, err
	}
	q.Sparse = q.Sparse.summed()
	n := x.namespaces[ns]
	if n == nil {
		return nil, nil
	}
	found := n.candidates(now, q.Filter)
	if q.IDF {
		q.Sparse = q.Sparse.weighted(n.candidates(now, Filter{}))
	}
	var dense, sparse []Scored
	for _, v := range found {
		if mode != Sparse {
			dense = append(dense, Scored{v, similarity(x.Similarity, q.Values, v.Values)})
		}
		if score, shared := q.Sparse.dot(v.Sparse); mode != Dense && shared {
			sparse = append(sparse, Scored{v, score})
		}
	}
	switch mode {
	case Dense:
		return best(dense, q.TopK), nil
	case Sparse:
		return best(sparse, q.TopK), nil
	}
	return best(fuse(best(dense, len(dense)), best(sparse, len(sparse)), q.Fusion), q.TopK), nil
}

// mode returns which parts of the vectors a query compares. If a query of a hybrid index
// has one part only, the index acts as one of that type.
func (x *Index) mode(q *Query) (string, error) {
	mode := x.Type
	if x.Type == Hybrid && q.Mode != "" {
		mode = q.Mode
	}
	if mode == Hybrid && (q.Values == nil) != (q.Sparse == nil) {
		mode = Dense
		if q.Values == nil {
			mode = Sparse
		}
	}
	switch {
	case mode == Hybrid && q.Values == nil:
		return mode, ownWords("This index requires dense or sparse vectors; the query has none")
	case mode != Sparse && x.Dimension != 0 && len(q.Values) != x.Dimension:
		return mode, ownWords(fmt.Sprintf("Invalid vector dimension: %d, expected: %d", len(q.Values), x.Dimension))
	case mode == Sparse && q.Sparse == nil:
		return mode, ownWords("This index requires sparse vectors")
	}
	return mode, q.Sparse.check()
}

// candidates returns the vectors that a query may find, in the order of insertion.
func (n *namespace) candidates(now time.Time, filter Filter) []*Vector {
	var list []*Vector
	for _, id := range n.order {
		if v := n.vectors[id]; v != nil && !v.ready.After(now) && filter.Holds(v.Metadata) {
			list = append(list, v)
		}
	}
	return list
}

// weighted multiplies each value by ln(1+(N-n+0.5)/(n+0.5)): N is the number of vectors, n
// the number of those with its index. (The page of the service has no 1 in the formula; a
// client's test suite asserts scores computed with it.)
func (s *SparseVector) weighted(all []*Vector) *SparseVector {
	if s == nil {
		return nil
	}
	having := map[int32]int{}
	for _, v := range all {
		if v.Sparse != nil {
			for _, index := range v.Sparse.Indices {
				having[index]++
			}
		}
	}
	out := &SparseVector{Indices: s.Indices, Values: make([]float32, len(s.Values))}
	for i, index := range s.Indices {
		n, total := float64(having[index]), float64(len(all))
		out.Values[i] = s.Values[i] * float32(math.Log1p((total-n+0.5)/(n+0.5)))
	}
	return out
}

// summed returns the vector with each index once: values of the same index are added.
func (s *SparseVector) summed() *SparseVector {
	if s == nil {
		return nil
	}
	out, at := &SparseVector{Indices: []int32{}, Values: []float32{}}, make(map[int32]int, len(s.Indices))
	for i, index := range s.Indices {
		place, seen := at[index]
		if seen {
			out.Values[place] += s.Values[i]
			continue
		}
		at[index] = len(out.Indices)
		out.Indices, out.Values = append(out.Indices, index), append(out.Values, s.Values[i])
	}
	return out
}

func best(list []Scored, k int) []Scored {
	slices.SortStableFunc(list, func(x, y Scored) int { return cmp.Compare(y.Score, x.Score) })
	return list[:min(k, len(list))]
}

// similarity is between 0 and 1 (wire.md, "Vector indexes").
func similarity(function string, x, y []float32) float64 {
	var dot, xx, yy, apart float64
	for i := range min(len(x), len(y)) {
		u, v := float64(x[i]), float64(y[i])
		dot += u * v
		xx += u * u
		yy += v * v
		apart += (u - v) * (u - v)
	}
	switch function {
	case Euclidean:
		return 1 / (1 + apart)
	case DotProduct:
		return (1 + dot) / 2
	}
	if xx == 0 || yy == 0 {
		return 0.5
	}
	return (1 + dot/math.Sqrt(xx*yy)) / 2
}

// dot returns the product over shared indices, and whether there are any. It sums float32
// values, as the service does: a client's test suite asserts all digits.
func (s *SparseVector) dot(t *SparseVector) (score float64, shared bool) {
	if s == nil || t == nil {
		return 0, false
	}
	at := make(map[int32]float32, len(t.Indices))
	for i, index := range t.Indices {
		at[index] = t.Values[i]
	}
	sum := float32(0)
	for i, index := range s.Indices {
		if v, ok := at[index]; ok {
			sum += float32(s.Values[i] * v) // the conversion prevents a fused multiply-add, which rounds differently
			shared = true
		}
	}
	return float64(sum), shared
}

// fuse merges two rankings: by reciprocal rank, 1/(rank+60) from rank 0, or by scores
// normalized to the distribution of their list.
func fuse(dense, sparse []Scored, how string) []Scored {
	scores := map[*Vector]float64{}
	for _, list := range [][]Scored{dense, sparse} {
		mean, spread := distribution(list)
		for rank, s := range list {
			if how == "DBSF" {
				scores[s.Vector] += (s.Score - (mean - 3*spread)) / (6 * spread)
			} else {
				scores[s.Vector] += 1 / float64(rank+60)
			}
		}
	}
	out := make([]Scored, 0, len(scores))
	for v, score := range maps.All(scores) {
		out = append(out, Scored{v, score})
	}
	slices.SortFunc(out, func(x, y Scored) int { return strings.Compare(x.ID, y.ID) })
	return out
}

// distribution returns the mean and the standard deviation, which is never 0.
func distribution(list []Scored) (mean, spread float64) {
	for _, s := range list {
		mean += s.Score / float64(len(list))
	}
	for _, s := range list {
		spread += (s.Score - mean) * (s.Score - mean) / float64(len(list))
	}
	return mean, max(math.Sqrt(spread), 1e-9)
}
