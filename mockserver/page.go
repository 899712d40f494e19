package mockserver

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = handlerTable.Add(table{
	"agents":         (*Server).serveAgents,
	"agentsEnd":      (*Server).serveAgents,
	"agentsStream":   (*Server).serveAgents,
	"docsHome":       showHelp,
	"docsModels":     showHelp,
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

// forPage marks the context of the calls of the page and of agents, which show errors themselves.
type forPage struct{}

// showPage passes a call to the web page.
func (s *Server) showPage(c *request.Call) (any, error) { return passed(c, s.page, "page") }

// serveAgents passes a call to the tools for coding agents.
func (s *Server) serveAgents(c *request.Call) (any, error) {
	return passed(c, s.agents, "endpoint for coding agents")
}

// passed passes a call to a part of the server that is a client of the control API.
func passed(c *request.Call, to http.Handler, part string) (any, error) {
	if to == nil {
		return nil, control.Missing(part)
	}
	r := c.Request.Clone(context.WithValue(c.Request.Context(), forPage{}, true))
	r.Body = io.NopCloser(bytes.NewReader(c.Body))
	return response.Response{Stream: func(w http.ResponseWriter, _ *http.Request) { to.ServeHTTP(w, r) }}, nil
}

// showHelp passes a call to the documentation, which needs nothing of the
// server.
func showHelp(s *Server, c *request.Call) (any, error) {
	if s.parts.Docs == nil {
		return nil, control.Missing("documentation")
	}
	return response.Response{Stream: func(w http.ResponseWriter, _ *http.Request) { s.parts.Docs.ServeHTTP(w, c.Request) }}, nil
}
