package mockserver

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/understudy-mock/understudy/spec"
)

// handlers has one row for each operation; router_test.go compares it with the
// documents. Each area adds its own rows.
var handlers = map[string]handler{}

// register adds an area's rows; the same operation twice is a mistake of ours
// that must not go unnoticed.
func register(rows map[string]handler) map[string]handler {
	for id, h := range rows {
		if handlers[id] != nil {
			panic("two handlers for operation " + id)
		}
		handlers[id] = h
	}
	return rows
}

// routes builds the router from the documents.
func (s *Server) routes(docs ...*spec.Document) (*mux.Router, error) {
	r := mux.NewRouter()
	known := map[string]bool{}
	for _, doc := range docs {
		for _, op := range doc.Operations() {
			h := handlers[op.ID]
			if h == nil {
				return nil, fmt.Errorf("operation %s of the document has no handler", op.ID)
			}
			known[op.ID] = true
			r.Methods(op.Method).MatcherFunc(matcher(op)).Handler(route{op, h})
		}
	}
	for id := range handlers {
		if !known[id] {
			return nil, fmt.Errorf("handler %s has no operation in the document", id)
		}
	}
	return r, nil
}

// matcher compares the path as it was sent: cleaning it would redirect // in a
// destination away, and unescaping it would lose %2F.
func matcher(op *spec.Operation) mux.MatcherFunc {
	return func(r *http.Request, m *mux.RouteMatch) (ok bool) {
		m.Vars, ok = op.Match(r.URL.EscapedPath())
		return ok
	}
}

// route is what the router finds: an operation and its handler. It is never
// called as a handler; the pipeline takes it apart.
type route struct {
	op      *spec.Operation
	handler handler
}

func (route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// match finds the operation of a request and its path variables.
func (s *Server) match(r *http.Request) (route, map[string]string, error) {
	var m mux.RouteMatch
	if s.router.Match(r, &m) && m.MatchErr == nil {
		if found, ok := m.Handler.(route); ok {
			return found, unescaped(found.op, m.Vars), nil
		}
	}
	if found, vars, ok := s.matchEmpty(r); ok {
		return found, vars, nil
	}
	if allowed := s.allowed(r); len(allowed) > 0 {
		return route{}, nil, errMethod(r.Method, r.URL.Path, allowed)
	}
	return route{}, nil, errPath(r.URL.Path)
}

// matchEmpty finds the operation whose greedy variable is empty, so that it is
// told what is missing instead of "no such operation".
func (s *Server) matchEmpty(r *http.Request) (route, map[string]string, bool) {
	if !strings.HasSuffix(r.URL.Path, "/") {
		return route{}, nil, false
	}
	probe, u := *r, *r.URL
	u.Path, u.RawPath = r.URL.Path+"-", ""
	probe.URL = &u
	var m mux.RouteMatch
	if !s.router.Match(&probe, &m) || m.MatchErr != nil {
		return route{}, nil, false
	}
	found, ok := m.Handler.(route)
	for name, v := range m.Vars {
		if ok && v == "-" && found.op.Greedy(name) {
			m.Vars[name] = ""
			return found, unescaped(found.op, m.Vars), true
		}
	}
	return route{}, nil, false
}

// unescaped decodes path variables; greedy ones stay as they stood, since only
// their reader knows what is part of a URL in them.
func unescaped(op *spec.Operation, vars map[string]string) map[string]string {
	for name, v := range vars {
		if op.Greedy(name) || !strings.ContainsRune(v, '%') {
			continue
		}
		if plain, err := url.PathUnescape(v); err == nil {
			vars[name] = plain
		}
	}
	return vars
}

// allowed lists the methods that the path knows.
func (s *Server) allowed(r *http.Request) []string {
	var list []string
	for _, method := range []string{"DELETE", "GET", "PATCH", "POST", "PUT"} {
		probe := *r
		probe.Method = method
		var m mux.RouteMatch
		if s.router.Match(&probe, &m) && m.MatchErr == nil {
			list = append(list, method)
		}
	}
	return list
}
