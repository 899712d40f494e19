package engine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// VectorQuery asks for the nearest vectors.
type VectorQuery struct {
	Values []float32
	Sparse *SparseVector
	TopK   int
	Mode   string // of a hybrid index: HYBRID (default), DENSE, SPARSE
	Fusion string // RRF (default) or DBSF
	Filter VectorFilter
}

// Scored is a vector and its score, best first: 0 to 1 for dense vectors.
type Scored struct {
	*Vector
	Score float64
}

// QueryVectors compares with every ready vector: exact, no approximation.
func (a *Account) QueryVectors(index, ns string, q VectorQuery) ([]Scored, error) {
	a.lock()
	defer a.unlock()
	x, err := a.index(index)
	if err != nil {
		return nil, err
	}
	mode := x.Type
	if x.Type == Hybrid && q.Mode != "" {
		mode = q.Mode
	}
	if mode != Sparse && x.Dimension != 0 && len(q.Values) != x.Dimension {
		return nil, fmt.Errorf("Invalid vector dimension: %d, expected: %d: %w", len(q.Values), x.Dimension, ErrUnfit) //nolint:staticcheck // the service's own words
	}
	if mode != Dense && q.Sparse == nil {
		return nil, fmt.Errorf("This index requires sparse vectors: %w", ErrUnfit) //nolint:staticcheck // the service's own words
	}
	if err := q.Sparse.check(); err != nil {
		return nil, err
	}
	n := x.namespaces[ns]
	if n == nil {
		return nil, nil
	}
	var dense, sparse []Scored
	for _, id := range n.order {
		v := n.vectors[id]
		if v == nil || v.ready.After(a.now) || !q.Filter.Holds(v.Metadata) {
			continue
		}
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
	return best(fuse(best(dense, q.TopK), best(sparse, q.TopK), q.Fusion), q.TopK), nil
}

func best(list []Scored, k int) []Scored {
	slices.SortStableFunc(list, func(x, y Scored) int { return cmp.Compare(y.Score, x.Score) })
	return list[:min(k, len(list))]
}

// similarity is within 0 to 1 (wire facts on vectors, section A4).
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

// dot is the product over shared indices, and whether there are any.
func (s *SparseVector) dot(t *SparseVector) (sum float64, shared bool) {
	if s == nil || t == nil {
		return 0, false
	}
	at := make(map[int32]float32, len(t.Indices))
	for i, index := range t.Indices {
		at[index] = t.Values[i]
	}
	for i, index := range s.Indices {
		if v, ok := at[index]; ok {
			sum += float64(s.Values[i]) * float64(v)
			shared = true
		}
	}
	return sum, shared
}

// fuse joins two rankings: by reciprocal rank, 1/(rank+60), or by scores
// brought to the distribution of their list.
func fuse(dense, sparse []Scored, how string) []Scored {
	scores := map[*Vector]float64{}
	for _, list := range [][]Scored{dense, sparse} {
		mean, spread := distribution(list)
		for rank, s := range list {
			if how == "DBSF" {
				scores[s.Vector] += (s.Score - (mean - 3*spread)) / (6 * spread)
			} else {
				scores[s.Vector] += 1 / float64(rank+1+60)
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

// distribution is the mean and the standard deviation, never 0.
func distribution(list []Scored) (mean, spread float64) {
	for _, s := range list {
		mean += s.Score / float64(len(list))
	}
	for _, s := range list {
		spread += (s.Score - mean) * (s.Score - mean) / float64(len(list))
	}
	return mean, max(math.Sqrt(spread), 1e-9)
}
