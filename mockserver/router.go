package mockserver

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

type table = request.Table[*Server]

// routes builds the router from the documents.
func (s *Server) routes(docs ...*spec.Document) (*mux.Router, error) {
	r := mux.NewRouter()
	known, literal, open := map[string]bool{}, literalPaths(docs), openPaths(docs)
	for _, doc := range docs {
		for _, op := range doc.Operations() {
			h := handlerTable[op.ID]
			if h == nil {
				return nil, fmt.Errorf("operation %s of the document has no handler", op.ID)
			}
			known[op.ID] = true
			methods := []string{op.Method}
			if op.Method == http.MethodGet && !slices.Contains(actingGets, op.ID) {
				methods = append(methods, http.MethodHead)
			}
			r.Methods(methods...).MatcherFunc(pathMatcher(op, literal, open[op.Method])).Handler(route{op, h})
		}
	}
	for id := range handlerTable {
		if !known[id] {
			return nil, fmt.Errorf("handler %s has no operation in the document", id)
		}
	}
	return r, nil
}

// actingGets are operations whose GET does something. HEAD, which promises to do
// nothing, is answered for all others. Sorted.
var actingGets = []string{"asGet", "callHookGet", "kvPathGet", "publishMessageGet"}

// literalPaths are the paths without a variable, in lower case.
func literalPaths(docs []*spec.Document) map[string]bool {
	paths := map[string]bool{}
	for _, doc := range docs {
		for _, op := range doc.Operations() {
			if !strings.Contains(op.Path, "{") {
				paths[strings.ToLower(op.Path)] = true
			}
		}
	}
	return paths
}

// openPaths are, by method, the paths that a value with slashes follows, in lower case: with
// a slash at the end they lack this value.
func openPaths(docs []*spec.Document) map[string]map[string]bool {
	paths := map[string]map[string]bool{}
	for _, doc := range docs {
		for _, op := range doc.Operations() {
			if fixed, name, ok := strings.Cut(op.Path, "/{"); ok && op.Greedy(strings.TrimSuffix(name, "}")) {
				if paths[op.Method] == nil {
					paths[op.Method] = map[string]bool{}
				}
				paths[op.Method][strings.ToLower(fixed)] = true
			}
		}
	}
	return paths
}

// pathMatcher compares the path as it was sent: cleaning it would redirect //
// in a destination away, and unescaping it would lose %2F. A literal path is
// never a value of a variable, whatever the method: GET /v2/dlq/retry does not
// look for an entry named retry, but is answered 405 with Allow: POST.
func pathMatcher(op *spec.Operation, literal, open map[string]bool) mux.MatcherFunc {
	return func(r *http.Request, m *mux.RouteMatch) bool {
		path := r.URL.EscapedPath()
		vars, ok := op.MatchInto(m.Vars, path)
		if !ok {
			return false
		}
		m.Vars = vars
		path = strings.ToLower(path)
		for _, fixed := range []string{path, strings.TrimSuffix(path, "/")} {
			if literal[fixed] {
				return strings.EqualFold(op.Path, fixed) && (fixed == path || !open[fixed])
			}
		}
		return true
	}
}

// route is what the router finds: an operation and its handler. It implements
// http.Handler for the router only, and is never called as one.
type route struct {
	op      *spec.Operation
	handler handler
}

func (route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// match finds the operation of a request and its path variables.
func (s *Server) match(v *visit) (route, map[string]string, error) {
	r, m := v.call.Request, &v.route
	if s.router.Match(r, m) && m.MatchErr == nil {
		if found, ok := m.Handler.(route); ok {
			return found, unescapeVars(found.op, m.Vars), nil
		}
	}
	if found, vars, ok := s.matchEmpty(r); ok {
		return found, vars, nil
	}
	if allowed := s.allowed(r); len(allowed) > 0 {
		return route{}, nil, response.WrongMethod(r.Method, r.URL.Path, allowed)
	}
	return route{}, nil, s.errPath(r.URL.Path)
}

// matchEmpty finds the operation whose greedy variable is empty, so that the
// error names the missing part instead of "operation not found".
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
			return found, unescapeVars(found.op, m.Vars), true
		}
	}
	return route{}, nil, false
}

// unescapeVars decodes path variables. Greedy ones stay escaped: they contain
// URLs, in which an escaped slash differs from a slash.
func unescapeVars(op *spec.Operation, vars map[string]string) map[string]string {
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

// allowed lists the methods that the path knows, in order.
func (s *Server) allowed(r *http.Request) []string {
	var list []string
	for _, method := range []string{"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"} {
		probe := *r
		probe.Method = method
		var m mux.RouteMatch
		if s.router.Match(&probe, &m) && m.MatchErr == nil {
			list = append(list, method)
		}
	}
	if len(list) > 0 {
		list = append(list, http.MethodOptions)
		slices.Sort(list)
	}
	return list
}

// errPath refuses a path that no operation has, with the nearest one that has, or else
// with those that begin with the same two segments.
func (s *Server) errPath(path string) error {
	if nearest := s.nearestPath(path); nearest != "" {
		return response.UnknownPath(path, "; did you mean "+nearest+"?")
	}
	segments := strings.SplitN(strings.ToLower(strings.Trim(path, "/")), "/", 3)
	if len(segments) == 1 {
		return response.UnknownPath(path, "")
	}
	parent, below := "/"+segments[0]+"/"+segments[1], map[string]bool{}
	for _, op := range s.doc.Operations() {
		if strings.HasPrefix(strings.ToLower(op.Path), parent+"/") {
			below[op.Path] = true
		}
	}
	if len(below) == 0 {
		return response.UnknownPath(path, "")
	}
	return response.UnknownPath(path, "; the operations below "+parent+" are "+strings.Join(slices.Sorted(maps.Keys(below)), ", "))
}

// firstSegments are the first path segments of the messaging and the control
// API, which users often omit; the more likely one first.
var firstSegments = []string{"v2", "_understudy"}

// nearestPath is the path of the operation that most resembles an unknown path,
// "" when none comes close: at most a fifth of its fixed text differs.
func (s *Server) nearestPath(path string) string {
	var segments []string
	for segment := range strings.SplitSeq(strings.ToLower(path), "/") {
		if segment != "" && !(len(segments) == 1 && segment == segments[0]) { // a client whose base URL ends with the segment sends it twice
			segments = append(segments, segment[:min(len(segment), 40)])
		}
	}
	best, least, longest, atEnd := "", 1<<30, 0, 0
	for _, doc := range []*spec.Document{s.doc, s.controlDoc} {
		for _, op := range doc.Operations() {
			fixed, _, open := strings.Cut(strings.ToLower(op.Path), "{")
			fixed = strings.Trim(fixed, "/")
			edits := editsOf(segments, fixed, open)
			for i, first := range firstSegments {
				if len(segments) > 0 && segments[0] != first {
					edits = min(edits, 1+i+editsOf(append([]string{first}, segments...), fixed, open))
				}
			}
			if edits > max(1, len(fixed)/5) || edits > least || edits == least && len(fixed) < longest {
				continue
			}
			end := endEdits(segments, op.Path)
			if edits < least || len(fixed) > longest || end < atEnd {
				best, least, longest, atEnd = op.Path, edits, len(fixed), end
			}
		}
	}
	return best
}

// endEdits ranks operations with the same fixed text: by the difference in the
// number of segments, then by the edit distance of the last one.
func endEdits(segments []string, path string) int {
	own := strings.Split(strings.ToLower(strings.Trim(path, "/")), "/")
	last := ""
	if len(segments) > 0 {
		last = segments[len(segments)-1]
	}
	return 100*max(len(own)-len(segments), len(segments)-len(own)) + similar.Distance(last, own[len(own)-1])
}

// editsOf is the edit distance between a path and the fixed text of an
// operation. When the operation is open, a variable takes the segments after
// that text, and they do not count.
func editsOf(segments []string, fixed string, open bool) int {
	if n := strings.Count(fixed, "/") + 1; open && n < len(segments) {
		segments = segments[:n]
	}
	return similar.Distance(strings.Join(segments[:min(len(segments), 8)], "/"), fixed)
}

// handler reads a call, calls the engine once, and returns the body of the answer, or a
// response.Response.
type handler func(*Server, *request.Call) (any, error)

// options answers OPTIONS with the methods of the path. A CORS preflight from a
// page of this machine is granted what it requests. A preflight of an unknown
// path passes too, so that the page receives the error of its request.
func (s *Server) options(c *request.Call) (response.Response, error) {
	allowed := s.allowed(c.Request)
	in, out := c.Request.Header, http.Header{}
	method := in.Get("Access-Control-Request-Method")
	if method != "" && gate.Loopback(in.Get("Origin")) {
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
