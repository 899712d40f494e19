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

// forPage marks the context of the calls of the page and of agents, which show errors themselves.
type forPage struct{}

// page passes a call to the web page.
func (s *Server) page(c *request.Call) (any, error) { return passed(c, s.browser, "page") }

// agents passes a call to the tools for coding agents.
func (s *Server) agents(c *request.Call) (any, error) {
	return passed(c, s.tools, "endpoint for coding agents")
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

// docs passes a call to the documentation, which needs nothing of the
// server.
func (s *Server) docs(c *request.Call) (any, error) {
	if s.parts.Docs == nil {
		return nil, control.Missing("documentation")
	}
	return response.Response{Stream: func(w http.ResponseWriter, _ *http.Request) { s.parts.Docs.ServeHTTP(w, c.Request) }}, nil
}
