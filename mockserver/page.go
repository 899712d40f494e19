package mockserver

import (
	"bytes"
	"context"
	"io"
	"net/http"

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
