package mockserver

import (
	"net/http"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/gate/origin"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// options answers OPTIONS with the methods of the path. A CORS preflight from a
// page of this machine is granted what it requests. A preflight of an unknown
// path passes too, so that the page receives the error of its request.
func (s *Server) options(c *call.Call) (response.Response, error) {
	allowed := s.allowed(c.Request)
	in, out := c.Request.Header, http.Header{}
	method := in.Get("Access-Control-Request-Method")
	if method != "" && origin.Loopback(in.Get("Origin")) {
		methods := allowed
		if len(methods) == 0 {
			methods = []string{method}
		}
		out.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
		if names := strings.Join(in.Values("Access-Control-Request-Headers"), ", "); names != "" {
			out.Set("Access-Control-Allow-Headers", names)
		}
		out.Set("Access-Control-Max-Age", "600")
	} else if len(allowed) == 0 {
		return response.Response{}, s.errPath(c.Request.URL.Path)
	}
	if len(allowed) > 0 {
		out.Set("Allow", strings.Join(allowed, ", "))
	}
	return response.Response{Status: http.StatusNoContent, Header: out}, nil
}
