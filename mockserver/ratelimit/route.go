package ratelimit

import (
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// route is the parsed path of a strategy. A segment is literal text in which * matches
// any characters, or :name, which matches any one segment. A final segment * matches
// any rest of a path, also an empty one.
type route struct {
	pattern  string // as configured; part of keys
	segments []*regexp.Regexp
	rest     bool // anything may follow
}

func newRoute(pattern string) route {
	r := route{pattern: pattern}
	if pattern == "*" {
		r.rest = true
		return r
	}
	parts := split(pattern)
	if n := len(parts); n > 0 && parts[n-1] == "*" {
		r.rest, parts = true, parts[:n-1]
	}
	for _, part := range parts {
		r.segments = append(r.segments, segment(part))
	}
	return r
}

// segment is the case-insensitive expression for one segment.
func segment(part string) *regexp.Regexp {
	text := strings.ReplaceAll(regexp.QuoteMeta(part), `\*`, ".*")
	if strings.HasPrefix(part, ":") && len(part) > 1 {
		text = ".+"
	}
	return regexp.MustCompile(`(?is)^` + text + `$`)
}

// shape is a key that is equal for routes that match the same paths.
func (r route) shape() string {
	var shape strings.Builder
	for _, s := range r.segments {
		shape.WriteString("/" + strings.ToLower(s.String()))
	}
	if r.rest {
		shape.WriteString("/*")
	}
	return shape.String()
}

// match reports whether the route matches the segments of a path.
func (r route) match(segments []string) bool {
	if len(segments) < len(r.segments) || len(segments) > len(r.segments) && !r.rest {
		return false
	}
	for i, s := range r.segments {
		if !s.MatchString(segments[i]) {
			return false
		}
	}
	return true
}

// segmentsOf splits the path of a request as a host application routes it: without
// . and .. and empty segments. It unescapes after splitting, so that an escaped slash
// stays inside its segment.
func segmentsOf(u *url.URL) []string {
	segments := split(path.Clean("/" + u.EscapedPath()))
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			segments[i] = plain
		}
	}
	return segments
}

func split(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == '/' })
}

// methodOf is the method in the key of a request; "" if the strategy does not apply.
// HEAD counts as GET.
func methodOf(methods map[string]bool, r *http.Request) string {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	switch {
	case methods["ALL"]:
		return "ALL"
	case methods[method]:
		return method
	}
	return ""
}
