package vectors

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/request"
)

// ParseIndex reads NAME=TYPE[:DIMENSION[:FUNCTION]], such as
// docs=DENSE:1536:COSINE, words=SPARSE or both=HYBRID:384:DOT_PRODUCT.
func ParseIndex(text string) (vector.Config, error) {
	const accepted = "must be NAME=TYPE[:DIMENSION[:FUNCTION]], TYPE one of DENSE, SPARSE and HYBRID, FUNCTION one of COSINE, EUCLIDEAN and DOT_PRODUCT"
	name, kind, ok := strings.Cut(text, "=")
	parts := strings.Split(kind, ":")
	x := vector.Config{Name: name, Type: parts[0], Similarity: vector.Cosine}
	if !ok || request.ReadName(new(string), name) != nil || len(parts) > 3 || !slices.Contains([]string{vector.Dense, vector.Sparse, vector.Hybrid}, x.Type) {
		return x, fmt.Errorf("invalid value %q: %s", text, accepted)
	}
	if len(parts) > 1 {
		n, err := strconv.Atoi(parts[1])
		if err != nil || n < 1 || n > 1<<16 {
			return x, fmt.Errorf("invalid value %q: dimension %q: must be an integer from 1 to 65536", text, parts[1])
		}
		x.Dimension = n
	}
	if len(parts) > 2 {
		if x.Similarity = parts[2]; !slices.Contains([]string{vector.Cosine, vector.Euclidean, vector.DotProduct}, x.Similarity) {
			return x, fmt.Errorf("invalid value %q: function %q: %s", text, parts[2], accepted)
		}
	}
	if x.Type == vector.Sparse && len(parts) > 1 {
		return x, fmt.Errorf("invalid value %q: a SPARSE index must have neither dimension nor function", text)
	}
	return x, nil
}

// namespaceOf is the namespace in the path, "" for the default one. Some clients
// percent-encode it.
func namespaceOf(c *call.Call) string {
	name := c.Vars["namespace"]
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}
