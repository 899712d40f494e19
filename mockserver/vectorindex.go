package mockserver

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/vectors"
)

// indexRoot is the prefix of URLs of single vector indexes: /index/NAME
// replaces the root of the vector host.
const indexRoot = "/index/"

// indexPath removes the prefix and the name of the index from the path.
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

// VectorIndexURL is the URL of one vector index; clients use it instead of
// VectorURL, where the token selects the index.
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

var _ = registerHandlers(vectorRows())

// vectorRows are the handlers of vector indexes.
func vectorRows() map[string]handler {
	rows := map[string]handler{}
	for id, h := range vectors.Handlers() {
		rows[id] = func(s *Server, c *call.Call) (response.Response, error) {
			embeds := slices.ContainsFunc(s.cfg.VectorIndexes, func(x vector.Config) bool { return x.Name == c.Index && x.EmbeddingModel == vectors.HashModel })
			return h(&vectors.API{Embeds: embeds}, c)
		}
	}
	return rows
}
