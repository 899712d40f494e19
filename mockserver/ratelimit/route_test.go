package ratelimit

import (
	"net/url"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	for pattern, paths := range map[string]map[string]bool{
		"*":                 {"/": true, "/a": true, "/a/b/c": true, "/_admin": true},
		"/":                 {"/": true, "/a": false},
		"/api":              {"/api": true, "/api/": true, "/API": true, "/apix": false, "/api/x": false, "/": false, "//api": true, "/x/../api": true, "/%61pi": true},
		"/api/*":            {"/api": true, "/api/": true, "/api/a": true, "/api/a/b": true, "/apix": false, "/other": false},
		"/users/:id":        {"/users/1": true, "/users/1/": true, "/users/a%2Fb": true, "/users": false, "/users/1/2": false},
		"/users/:id/orders": {"/users/1/orders": true, "/users/1/x": false},
		"/a/*/c":            {"/a/b/c": true, "/a/b/b/c": false, "/a/c": false},
		"/files/img-*":      {"/files/img-1": true, "/files/img-": true, "/files/doc-1": false, "/files/img-1/x": false},
		"/v1.0/x":           {"/v1.0/x": true, "/v1a0/x": false},
	} {
		r := newRoute(pattern)
		for path, want := range paths {
			u, err := url.Parse("http://h" + path)
			expect.NoError(t, err)
			if got := r.match(segmentsOf(u)); got != want {
				t.Errorf("%s covers %s: %v, want %v", pattern, path, got, want)
			}
		}
	}
}

func FuzzRoute(f *testing.F) {
	f.Add("/api/:id/*", "/api/1/x")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		u, err := url.Parse("http://h/" + path)
		if err != nil {
			return
		}
		segments := segmentsOf(u)
		_ = newRoute(pattern).match(segments)
		if !newRoute("*").match(segments) {
			t.Errorf("* does not cover %q", path)
		}
	})
}
