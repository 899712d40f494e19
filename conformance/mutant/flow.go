package mutant

import (
	"net/http"
	"strings"
	"sync"
)

// flow breaks flow-control keys. Sorted by id.
var flow = []Mutant{
	{"M77", "FLC-001", "a resume answers 2xx, the messages stay held", nil, func(hit func()) Parts {
		return wrap(resuming, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.Contains(r.URL.Path, "never") {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = w.Write([]byte("{}"))
		})
	}},
	{"M79", "FLC-003", "a resume frees other keys too", nil, func(hit func()) Parts {
		return wrap(resuming, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			other := r.Clone(r.Context())
			other.URL.Path = strings.Replace(other.URL.Path, "-key/resume", "-otherkey/resume", 1)
			call(next, other)
			next.ServeHTTP(w, r)
		})
	}},
	{"M81", "FLC-002", "the error of a resume stands under message", nil, respond(resuming, func(_ *http.Request, a *answer) {
		if a.status >= 300 {
			a.body = []byte(`{"message":"no such key"}`)
		}
	})},
	{"M310", "FLC-001", "a resume frees only the first message", nil, heldBack},
	{"M311", "FLC-002", "the error of a resume is plain text", nil, respond(resuming, func(_ *http.Request, a *answer) {
		if a.status >= 300 {
			a.body = []byte("no such key")
			a.header.Set("Content-Type", "text/plain")
		}
	})},
	{"M312", "FLC-004", "a key is cut at an encoded slash", nil, request(resuming, func(r *http.Request) {
		if i := strings.Index(r.URL.EscapedPath(), "%2F"); i > 0 {
			r.URL.Path, r.URL.RawPath = r.URL.EscapedPath()[:i]+"/resume", ""
		}
	})},
	{"M313", "FLC-005", "a message that was held has lost its body", nil, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
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
