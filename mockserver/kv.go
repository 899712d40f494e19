package mockserver

import (
	"bytes"
	"io"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// kvPath is the path of the key-value store of the rate-limit plugin.
const kvPath = "/kv"

// clockHeader informs the rate-limit plugin that the account's clock is not the
// wall clock; its value is the mode of the clock.
const clockHeader = "Understudy-Clock"

// kv passes the call to the account's store, which has its own rules for
// tokens, statuses and bodies.
func (s *Server) kv(c *request.Call) (any, error) {
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
	answer := recorder.Serve(c.Tenant.KV, &r)
	if mode := s.tenants.Mode(c.Tenant); mode != "real" {
		answer.Header().Set(clockHeader, mode)
	}
	return response.Response{Status: answer.Status, Header: answer.Header(), Body: answer.Body.Bytes()}, nil
}
