package messaging

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/request"
)

// ParseIndex reads NAME=TYPE[:DIMENSION[:FUNCTION]], such as
// docs=DENSE:1536:COSINE, words=SPARSE or both=HYBRID:384:DOT_PRODUCT. An empty part is like
// a missing one. A SPARSE index may have the dimension 0.
func ParseIndex(text string) (vector.Config, error) {
	const accepted = "must be NAME=TYPE[:DIMENSION[:FUNCTION]], TYPE one of DENSE, SPARSE and HYBRID, FUNCTION one of COSINE, EUCLIDEAN and DOT_PRODUCT"
	name, kind, ok := strings.Cut(text, "=")
	parts := strings.Split(kind, ":")
	x := vector.Config{Name: name, Type: parts[0], Similarity: vector.Cosine}
	if !ok || request.ReadName(new(string), name) != nil || len(parts) > 3 || !slices.Contains([]string{vector.Dense, vector.Sparse, vector.Hybrid}, x.Type) {
		return x, fmt.Errorf("invalid value %q: %s", text, accepted)
	}
	dimension, function := partOf(parts, 1), partOf(parts, 2)
	if x.Type == vector.Sparse && (dimension != "" && dimension != "0" || function != "") {
		return x, fmt.Errorf("invalid value %q: a SPARSE index must have neither dimension nor function", text)
	}
	if dimension != "" && x.Type != vector.Sparse {
		n, err := strconv.Atoi(dimension)
		if err != nil || n < 1 || n > 1<<16 {
			return x, fmt.Errorf("invalid value %q: dimension %q: must be an integer from 1 to 65536", text, dimension)
		}
		x.Dimension = n
	}
	if function != "" {
		if x.Similarity = function; !slices.Contains([]string{vector.Cosine, vector.Euclidean, vector.DotProduct}, function) {
			return x, fmt.Errorf("invalid value %q: function %q: %s", text, function, accepted)
		}
	}
	return x, nil
}

// partOf returns a part of a value, "" if it is missing.
func partOf(parts []string, i int) string {
	if i < len(parts) {
		return parts[i]
	}
	return ""
}

// namespaceOf is the namespace in the path, "" for the default one. Some clients
// percent-encode it.
func namespaceOf(c *request.Call) string {
	name := c.Vars["namespace"]
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}
