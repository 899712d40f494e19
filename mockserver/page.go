package mockserver

import (
	"bytes"
	"io"
	"net/http"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]handler{
	"page":           (*Server).showPage,
	"pageAction":     (*Server).showPage,
	"pageHome":       (*Server).showPage,
	"pageRoot":       (*Server).showPage,
	"pageViews":      (*Server).showPage,
	"pageViewsSlash": (*Server).showPage,
	"pageView":       (*Server).showPage,
})

// showPage hands a call to the web page, which is a client of the control API.
func (s *Server) showPage(c *call.Call) (response.Response, error) {
	r := c.Request.Clone(c.Request.Context())
	r.Body = io.NopCloser(bytes.NewReader(c.Body))
	return response.Response{Stream: func(w http.ResponseWriter, _ *http.Request) { s.page.ServeHTTP(w, r) }}, nil
}
