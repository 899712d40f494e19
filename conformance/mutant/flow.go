package mutant

import (
	"net/http"
	"strings"
	"sync"
)

// flow breaks flow-control keys. Sorted by id.
var flow = []Mutant{
	{ID: "FLC-001.1", Text: "a resume answers 2xx, the messages stay held", Build: func(hit func()) Parts {
		return wrap(resuming, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.Contains(r.URL.Path, "never") {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = w.Write([]byte("{}"))
		})
	}},
	{ID: "FLC-001.2", Text: "a resume frees only the first message", Build: heldBack},
	{ID: "FLC-002.1", Text: "the error of a resume stands under message", Build: respond(resuming, func(_ *http.Request, a *answer) {
		if a.status >= 300 {
			a.body = []byte(`{"message":"no such key"}`)
		}
	})},
	{ID: "FLC-002.2", Text: "the error of a resume is plain text", Build: respond(resuming, func(_ *http.Request, a *answer) {
		if a.status >= 300 {
			a.body = []byte("no such key")
			a.header.Set("Content-Type", "text/plain")
		}
	})},
	{ID: "FLC-003.1", Text: "a resume frees other keys too", Build: func(hit func()) Parts {
		return wrap(resuming, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			other := r.Clone(r.Context())
			other.URL.Path = strings.Replace(other.URL.Path, "-key/resume", "-otherkey/resume", 1)
			call(next, other)
			next.ServeHTTP(w, r)
		})
	}},
	{ID: "FLC-004.1", Text: "a key is cut at an encoded slash", Build: request(resuming, func(r *http.Request) {
		if i := strings.Index(r.URL.EscapedPath(), "%2F"); i > 0 {
			r.URL.Path, r.URL.RawPath = r.URL.EscapedPath()[:i]+"/resume", ""
		}
	})},
	{ID: "FLC-005.1", Text: "a message that was held has lost its body", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasPrefix(string(body(r)), "held ") {
			setBody(r, []byte("held"))
		}
		return next.RoundTrip(r)
	})},
}

// heldBack never delivers what was held behind the first message.
func heldBack(hit func()) Parts {
	var mu sync.Mutex
	seen := map[string]bool{}
	return delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasPrefix(string(body(r)), "held ") {
			mu.Lock()
			again := seen[r.URL.Path]
			seen[r.URL.Path] = true
			mu.Unlock()
			if again {
				return delivered(), nil
			}
		}
		return next.RoundTrip(r)
	})(hit)
}
