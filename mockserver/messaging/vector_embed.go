package messaging

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"unicode"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// EmbedHash is the name of the embedding that turns texts into vectors by hashing
// their words. There is no model, but the same text gives the same vector, and
// texts that share words give near ones.
const EmbedHash = "hash"

// HashModel is the name of this embedding in the information about an index.
const HashModel = "UNDERSTUDY_TEST_HASH"

// undecidedDimension is the dimension of hashed vectors in an index that has no
// dimension yet.
const undecidedDimension = 384

// SetEmbeddings sets the embedding of indexes: "hash" that of all, "docs=hash,words=hash" of
// those named.
func SetEmbeddings(indexes []vector.Config, text string) error {
	if text == "" {
		return nil
	}
	for row := range strings.SplitSeq(text, ",") {
		name, embedding, one := strings.Cut(row, "=")
		if !one {
			embedding = row
		}
		if embedding != EmbedHash {
			return fmt.Errorf("embed: invalid value %q: must be hash or NAME=hash, several separated by commas", row)
		}
		found := false
		for i := range indexes {
			if !one || indexes[i].Name == name {
				indexes[i].EmbeddingModel, found = HashModel, true
			}
		}
		if !found {
			return fmt.Errorf("embed: invalid value %q: vector index %q not found", row, name)
		}
	}
	return nil
}

// takesData reports whether an operation takes texts instead of vectors.
func takesData(c *request.Call) bool { return strings.Contains(c.Op.ID, "Data") }

// embed returns the vectors of a text: dense, sparse or both, as the index needs. It
// refuses a request that also has vectors.
func (a *API) embed(c *request.Call, text *string, vectors bool) (vector.Vector, error) {
	var v vector.Vector
	switch {
	case !a.Embeds(c.Index):
		return v, refusal.Of(refusal.Unfit, "Embedding data for this index is not allowed. The index must be created with an embedding model to use it. "+ // the text of the service
			"For tests, start the server with --embed hash", "", "")
	case vectors:
		return v, response.Invalid("body: vector and sparseVector are not allowed together with data; the path of vectors has no -data")
	case text == nil:
		return v, response.Invalid("body /data: missing: must be a string")
	}
	info, err := engine.ReadVectors(c.Account, c.Index, vector.InfoRead{})
	if err != nil {
		return v, err
	}
	dimension := info.Dimension
	if dimension == 0 {
		dimension = undecidedDimension
	}
	if info.Type != vector.Sparse {
		v.Values = hashDense(*text, dimension)
	}
	if info.Type != vector.Dense {
		v.Sparse = hashSparse(*text)
	}
	return v, nil
}

// textWords are the words of a text in lower case.
func textWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func hashOf(feature string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(feature)) // never fails
	return h.Sum64()
}

// hashDense returns a vector of length 1 of the words of a text and, with less
// weight, each three letters in a row, so that forms of a word are near each other.
func hashDense(text string, dimension int) []float32 {
	sums := make([]float64, dimension)
	add := func(feature string, weight float64) {
		hash := hashOf(feature)
		if hash>>63 == 1 {
			weight = -weight
		}
		sums[hash%uint64(dimension)] += weight
	}
	for _, word := range textWords(text) {
		add(word, 1)
		letters := []rune("^" + word + "$")
		for i := 0; i+3 <= len(letters); i++ {
			add(string(letters[i:i+3]), 0.3)
		}
	}
	length := 0.0
	for _, x := range sums {
		length += x * x
	}
	if length == 0 { // no words, or they cancel out
		sums[hashOf(text)%uint64(dimension)], length = 1, 1
	}
	values := make([]float32, dimension)
	for i, x := range sums {
		values[i] = float32(x / math.Sqrt(length))
	}
	return values
}

// Constants of BM25, without the inverse document frequency, which is a weighting
// of queries.
const (
	termSaturation      = 1.2
	lengthNormalization = 0.75
	usualLength         = 32 // words
	maxTerms            = 1000
)

// hashSparse returns a sparse vector with the BM25 weight of each word.
func hashSparse(text string) *vector.SparseVector {
	words := textWords(text)
	count, order := map[int32]float64{}, []int32{}
	for _, word := range words {
		index := int32(hashOf(word) & math.MaxInt32)
		if count[index]++; count[index] == 1 {
			order = append(order, index)
		}
	}
	v := &vector.SparseVector{Indices: []int32{}, Values: []float32{}}
	for _, index := range order[:min(len(order), maxTerms)] {
		f := count[index]
		v.Indices = append(v.Indices, index)
		v.Values = append(v.Values, float32(f*(termSaturation+1)/(f+termSaturation*(1-lengthNormalization+lengthNormalization*float64(len(words))/usualLength))))
	}
	return v
}
