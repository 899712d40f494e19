package mockserver

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]handler{
	"asDelete": (*Server).as,
	"asGet":    (*Server).as,
	"asPatch":  (*Server).as,
	"asPost":   (*Server).as,
	"asPut":    (*Server).as,
})

// as calls an operation of the interface as an account, as the tester: no
// credentials are needed, faults leave it alone, and the journal of requests,
// which is for what clients do, does not see it.
func (s *Server) as(c *call) (response.Response, error) {
	w := s.byID(c.vars["account"])
	if w == nil {
		return response.Response{}, refusal.Of(refusal.NotFound, "account", c.vars["account"], "not found")
	}
	r := c.request.Clone(c.request.Context())
	r.Header = c.sent.Clone()
	escaped := r.URL.EscapedPath()
	_, escaped, _ = strings.Cut(strings.TrimPrefix(escaped, "/_understudy/as/"), "/")
	u := url.URL{RawPath: "/" + escaped, RawQuery: c.sentQuery}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return response.Response{}, response.Invalid("path " + response.Shorten(escaped) + ": must be the path of an operation, such as v2/dlq")
	}
	r.URL, r.Body, r.ContentLength = &u, io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	probe := &call{request: r}
	s.neutralise(probe)
	found, _, err := s.match(probe.request)
	if err != nil {
		return response.Response{}, err
	}
	if found.op.Area == "control_url" {
		return response.Response{}, response.Invalid("path " + response.Shorten(u.Path) + ": an operation of the control API; it takes ?account=" + w.ID)
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Hx-") || strings.HasPrefix(name, "Sec-") {
			r.Header.Del(name)
		}
	}
	r.Header.Set("Authorization", w.authorization(found.op.Area, probe.asked))
	inner := &call{request: r, asTester: true}
	out, err := s.answer(nil, inner, &Exchange{})
	c.dialect, c.warnings = inner.dialect, inner.warnings
	if inner.op != nil && out.Status == 0 {
		out.Status = inner.op.Success
	}
	return out, err
}

// authorization is the credential of an account on a host of the interface.
func (w *tenant) authorization(area, index string) string {
	switch area {
	case "dev_api_url":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(w.username()+":"+w.password))
	case "kv_url":
		return "Bearer " + w.kvToken
	case "vector_url":
		if index == "" {
			return "Bearer " + w.vectorToken()
		}
		return "Bearer " + vectorToken(w.Token, index)
	}
	return "Bearer " + w.Token
}
