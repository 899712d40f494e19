package mockserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]handler{
	"docsHome":       showHelp,
	"docsPage":       showHelp,
	"docsRoot":       showHelp,
	"page":           (*Server).showPage,
	"pageAction":     (*Server).showPage,
	"pageHome":       (*Server).showPage,
	"pageRoot":       (*Server).showPage,
	"pageViews":      (*Server).showPage,
	"pageViewsSlash": (*Server).showPage,
	"pageView":       (*Server).showPage,
})

// forPage marks the context of the page's own calls, whose errors the page shows.
type forPage struct{}

// showPage passes a call to the web page, which is a client of the control API.
func (s *Server) showPage(c *call.Call) (response.Response, error) {
	if s.page == nil {
		return response.Response{}, control.Missing("page")
	}
	r := c.Request.Clone(context.WithValue(c.Request.Context(), forPage{}, true))
	r.Body = io.NopCloser(bytes.NewReader(c.Body))
	return response.Response{Stream: func(w http.ResponseWriter, _ *http.Request) { s.page.ServeHTTP(w, r) }}, nil
}

// showHelp passes a call to the documentation, which needs nothing of the
// server.
func showHelp(s *Server, c *call.Call) (response.Response, error) {
	if s.parts.Docs == nil {
		return response.Response{}, control.Missing("documentation")
	}
	return response.Response{Stream: func(w http.ResponseWriter, _ *http.Request) { s.parts.Docs.ServeHTTP(w, c.Request) }}, nil
}

var _ = registerHandlers(map[string]handler{
	"asDelete": (*Server).as,
	"asGet":    (*Server).as,
	"asPatch":  (*Server).as,
	"asPost":   (*Server).as,
	"asPut":    (*Server).as,
})

// originalHeader names the message that a publish by the tester repeats with changes.
const originalHeader = "Understudy-Original-Message"

// as calls an operation of the interface as an account on behalf of the tester:
// it needs no credentials, no faults apply, and the journal of requests does
// not record it, because that journal is for what clients do.
func (s *Server) as(c *call.Call) (response.Response, error) {
	w := s.tenants.ByID(c.Vars["account"])
	if w == nil {
		return response.Response{}, refusal.Of(refusal.NotFound, "account", c.Vars["account"], "not found")
	}
	r := c.Request.Clone(c.Request.Context())
	r.Header = c.Sent.Clone()
	escaped := r.URL.EscapedPath()
	_, escaped, _ = strings.Cut(strings.TrimPrefix(escaped, "/_understudy/as/"), "/")
	u := url.URL{RawPath: "/" + escaped, RawQuery: c.SentQuery}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return response.Response{}, response.Invalid("path " + response.Shorten(escaped) + ": must be the path of an operation, such as v2/dlq")
	}
	r.URL, r.ContentLength = &u, int64(len(c.Body))
	probe := &visit{call: call.Call{Request: r}}
	s.neutralise(&probe.call)
	found, _, err := s.match(probe)
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
	r.Header.Set("Authorization", w.Authorization(found.op.Area, probe.call.Asked))
	visit := &visit{call: call.Call{Request: r, AsTester: true, Body: c.Body, Original: r.Header.Get(originalHeader)}}
	r.Header.Del(originalHeader)
	inner := &visit.call
	out, err := s.respond(nil, visit)
	c.Turn = inner.Turn // until the response has been sent
	c.Dialect, c.Warnings = inner.Dialect, inner.Warnings
	if inner.Op != nil && out.Status == 0 {
		out.Status = inner.Op.Success
	}
	return out, err
}
