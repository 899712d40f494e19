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
	r, err := x.rank(ns, q, now)
	return r.take(q.TopK), err
}

// ranking is the vectors that a query finds, the best first: one list, or two that are
// fused when vectors are taken, because DBSF compares only as many of each as are taken.
type ranking [][]Scored

// rank returns all vectors that a query finds.
func (x *Index) rank(ns string, q Query, now time.Time) (ranking, error) {
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
	dense, sparse = best(dense), best(sparse)
	switch {
	case mode == Dense:
		return ranking{dense}, nil
	case mode == Sparse:
		return ranking{sparse}, nil
	case q.Fusion == "DBSF":
		return ranking{dense, sparse}, nil
	}
	return ranking{fuse(reciprocalRank, dense, sparse)}, nil
}

// take removes the best k vectors and returns them.
func (r ranking) take(k int) []Scored {
	if len(r) == 0 {
		return nil
	}
	if len(r) == 1 {
		first := cut(r[0], k)
		r[0] = r[0][len(first):]
		return first
	}
	first := cut(fuse(distribution, cut(r[0], k), cut(r[1], k)), k)
	taken := map[*Vector]bool{}
	for _, s := range first {
		taken[s.Vector] = true
	}
	for i := range r {
		r[i] = slices.DeleteFunc(r[i], func(s Scored) bool { return taken[s.Vector] })
	}
	return first
}

func cut(list []Scored, k int) []Scored { return slices.Clip(list[:min(k, len(list))]) }

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

// candidates returns the vectors that a query may find, in the order of insertion. A
// vector whose change is pending is found as it was before.
func (n *namespace) candidates(now time.Time, filter Filter) []*Vector {
	var list []*Vector
	for _, id := range n.order {
		if v := n.vectors[id].at(now); v != nil && filter.Holds(v.Metadata) {
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

func best(list []Scored) []Scored {
	slices.SortStableFunc(list, func(x, y Scored) int { return cmp.Compare(y.Score, x.Score) })
	return list
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

// fuse merges lists by the sum of the shares that their vectors have in each.
func fuse(shares func(list []Scored) []float64, lists ...[]Scored) []Scored {
	scores := map[*Vector]float64{}
	for _, list := range lists {
		for i, share := range shares(list) {
			scores[list[i].Vector] += share
		}
	}
	out := make([]Scored, 0, len(scores))
	for v, score := range maps.All(scores) {
		out = append(out, Scored{v, score})
	}
	slices.SortFunc(out, func(x, y Scored) int { return strings.Compare(x.ID, y.ID) })
	return best(out)
}

// reciprocalRank is the shares for RRF: 1/(rank+60), from rank 0.
func reciprocalRank(list []Scored) []float64 {
	shares := make([]float64, len(list))
	for rank := range list {
		shares[rank] = 1 / float64(rank+60)
	}
	return shares
}

// distribution is the shares for DBSF: where each score is between the mean minus and plus
// three standard deviations of a sample. Equal scores are in the middle.
func distribution(list []Scored) []float64 {
	mean, squares := 0.0, 0.0
	for _, s := range list {
		mean += s.Score / float64(len(list))
	}
	for _, s := range list {
		squares += (s.Score - mean) * (s.Score - mean)
	}
	spread := max(math.Sqrt(squares/float64(max(len(list)-1, 1))), 1e-9)
	shares := make([]float64, len(list))
	for i, s := range list {
		shares[i] = 0.5 + (s.Score-mean)/(6*spread)
	}
	return shares
}
