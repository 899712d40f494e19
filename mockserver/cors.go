package mockserver

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/response"
)

// loopbackOrigin reports whether an Origin header names a page of this machine,
// such as http://localhost:3000.
func loopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && localHost(u.Host)
}

// allowOrigin lets pages of this machine read every answer, with all of its
// headers. Pages of other sites are left to the browser, which stops them.
func allowOrigin(h http.Header, r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	h.Add("Vary", "Origin")
	if loopbackOrigin(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "*")
	}
}

// options answers OPTIONS with the methods of the path, and a preflight of a
// page of this machine with what it asks for. A preflight of an unknown path
// passes too, so that the page receives the error of its request.
func (s *Server) options(c *call) (response.Response, error) {
	allowed := s.allowed(c.request)
	in, out := c.request.Header, http.Header{}
	method := in.Get("Access-Control-Request-Method")
	if method != "" && loopbackOrigin(in.Get("Origin")) {
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
		return response.Response{}, s.errPath(c.request.URL.Path)
	}
	if len(allowed) > 0 {
		out.Set("Allow", strings.Join(allowed, ", "))
	}
	return response.Response{Status: http.StatusNoContent, Header: out}, nil
}
