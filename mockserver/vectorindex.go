package mockserver

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// indexRoot is where vector indexes have URLs of their own: /index/NAME takes
// the place of the vector host's root.
const indexRoot = "/index/"

// indexPath takes the index out of the path.
func indexPath(c *call.Call) {
	escaped := c.Request.URL.EscapedPath()
	if len(escaped) < len(indexRoot) || !strings.EqualFold(escaped[:len(indexRoot)], indexRoot) {
		return
	}
	name, path, _ := strings.Cut(escaped[len(indexRoot):], "/")
	plain, err := url.PathUnescape(name)
	if err != nil {
		return
	}
	r, u := *c.Request, *c.Request.URL
	u.RawPath = "/" + path
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return
	}
	r.URL, c.Request, c.Asked = &u, &r, plain
}

// VectorIndexURL is the URL of one vector index; clients take it in place of
// VectorURL, whose index the token picks.
func (s *Server) VectorIndexURL(name string) string {
	return s.VectorURL() + indexRoot + url.PathEscape(name)
}

// vectorEnv names the URL and the token of each configured index.
func (s *Server) vectorEnv(w *tenant.Tenant) (vars []EnvVar) {
	indexes := w.Indexes()
	if len(indexes) < 2 {
		return nil
	}
	for _, x := range indexes {
		name := "VECTOR_" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return unicode.ToUpper(r)
			}
			return '_'
		}, x.Name)
		vars = append(vars, EnvVar{name + "_URL", s.VectorIndexURL(x.Name)}, EnvVar{name + "_TOKEN", x.Token})
	}
	return vars
}

// ParseVectorIndex reads NAME=TYPE[:DIMENSION[:FUNCTION]], such as
// docs=DENSE:1536:COSINE, words=SPARSE or both=HYBRID:384:DOT_PRODUCT.
func ParseVectorIndex(text string) (vector.Config, error) {
	const accepted = "must be NAME=TYPE[:DIMENSION[:FUNCTION]], TYPE one of DENSE, SPARSE and HYBRID, FUNCTION one of COSINE, EUCLIDEAN and DOT_PRODUCT"
	name, kind, ok := strings.Cut(text, "=")
	parts := strings.Split(kind, ":")
	x := vector.Config{Name: name, Type: parts[0], Similarity: vector.Cosine}
	if !ok || request.ReadName(new(string), name) != nil || len(parts) > 3 || !slices.Contains([]string{vector.Dense, vector.Sparse, vector.Hybrid}, x.Type) {
		return x, fmt.Errorf("vector index %q: %s", text, accepted)
	}
	if len(parts) > 1 {
		n, err := strconv.Atoi(parts[1])
		if err != nil || n < 1 || n > 1<<16 {
			return x, fmt.Errorf("vector index %q: dimension %q: a whole number from 1 to 65536", text, parts[1])
		}
		x.Dimension = n
	}
	if len(parts) > 2 {
		if x.Similarity = parts[2]; !slices.Contains([]string{vector.Cosine, vector.Euclidean, vector.DotProduct}, x.Similarity) {
			return x, fmt.Errorf("vector index %q: function %q: %s", text, parts[2], accepted)
		}
	}
	if x.Type == vector.Sparse && len(parts) > 1 {
		return x, fmt.Errorf("vector index %q: a SPARSE index has neither dimension nor function", text)
	}
	return x, nil
}

// openVector lets a request in at the index that its token opens. A URL that
// names an index has to name that one.
func (s *Server) openVector(c *call.Call) error {
	c.Index = c.Tenant.Opens(call.BearerToken(c.Header))
	if c.Asked == "" || c.Asked == c.Index {
		return nil
	}
	if !c.Tenant.HasIndex(c.Asked) {
		return refusal.Of(refusal.NotFound, "vector index", c.Asked, "not found; its URLs are listed when the server starts")
	}
	return response.Unauthorized("Bearer", "Unauthorized: the token is not that of the vector index "+response.Shorten(c.Asked))
}

// namespaceOf is the one in the path, "" for the default one. Clients write it as
// it is, or percent-encoded.
func namespaceOf(c *call.Call) string {
	name := c.Vars["namespace"]
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}
