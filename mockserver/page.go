package mockserver

import (
	"bytes"
	"io"
	"net/http"
)

var _ = register(map[string]handler{
	"page":           (*Server).showPage,
	"pageAction":     (*Server).showPage,
	"pageHome":       (*Server).showPage,
	"pageRoot":       (*Server).showPage,
	"pageViews":      (*Server).showPage,
	"pageViewsSlash": (*Server).showPage,
	"pageView":       (*Server).showPage,
})

// showPage hands a call to the web page, which is a client of the control API.
func (s *Server) showPage(c *call) (reply, error) {
	r := c.request.Clone(c.request.Context())
	r.Body = io.NopCloser(bytes.NewReader(c.body))
	return reply{stream: func(w http.ResponseWriter, _ *http.Request) { s.page.ServeHTTP(w, r) }}, nil
}
