package mockserver

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = handlerTable.Add(table{
	"kvCommand":     (*Server).kvCall,
	"kvPathGet":     (*Server).kvCall,
	"kvPathPost":    (*Server).kvCall,
	"kvPathPut":     (*Server).kvCall,
	"kvPipeline":    (*Server).kvCall,
	"kvTransaction": (*Server).kvCall,
})

// kvPath is the path of the key-value store of the rate-limit plugin.
const kvPath = "/kv"

// clockHeader informs the rate-limit plugin that the account's clock is not the
// wall clock; its value is the mode of the clock.
const clockHeader = "Understudy-Clock"

// kvCall passes the call to the account's store, which has its own rules for
// tokens, statuses and bodies.
func (s *Server) kvCall(c *request.Call) (any, error) {
	path := "/" + strings.TrimPrefix(strings.TrimPrefix(c.Op.Path, kvPath), "/")
	if command, ok := c.Vars["command"]; ok {
		path = "/" + command
	}
	r, u := *c.Request, url.URL{RawPath: path, RawQuery: c.Raw}
	var err error
	if u.Path, err = url.PathUnescape(path); err != nil {
		return nil, response.Invalid("path: " + err.Error())
	}
	r.URL, r.Header, r.Body = &u, c.Header, io.NopCloser(bytes.NewReader(c.Body))
	answer := captured{header: http.Header{}}
	c.Tenant.KV.ServeHTTP(&answer, &r)
	if mode := s.tenants.Mode(c.Tenant); mode != "real" {
		answer.header.Set(clockHeader, mode)
	}
	return response.Response{Status: answer.status, Header: answer.header, Body: answer.body.Bytes()}, nil
}

// captured is an answer that is kept instead of sent, so that the pipeline can
// check and record it.
type captured struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *captured) Header() http.Header { return a.header }

func (a *captured) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *captured) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}
