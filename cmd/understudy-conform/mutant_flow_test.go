package main

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/spec/route"
)

// flowMutants break flow-control keys. Sorted by id.
var flowMutants = []mutant{
	{ID: "FLC-001.1", Text: "a resume answers 2xx, the messages stay held", Build: func(hit func()) mutantParts {
		return wrapMatching(resumingKey, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.Contains(r.URL.Path, "never") {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = w.Write([]byte("{}"))
		})
	}},
	{ID: "FLC-001.2", Text: "a resume frees only the first message", Build: heldBack},
	{ID: "FLC-001.3", Text: "a key is resumed once, and then never again", Build: resumedOnce},
	{ID: "FLC-001.4", Text: "what a key holds is lost by a resume", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasPrefix(string(readBody(r)), "held 0") {
			return fakeDelivery(), nil
		}
		return next.RoundTrip(r)
	})},
	{ID: "FLC-001.5", Text: "keys that are resumed at once free the last one only", Build: lastOfMany},
	{ID: "FLC-002.1", Text: "the error of a resume is under message", Build: changeResponse(resumingKey, func(_ *http.Request, a *answer) {
		if a.status >= 300 {
			a.body = []byte(`{"message":"no such key"}`)
		}
	})},
	{ID: "FLC-002.2", Text: "the error of a resume is plain text", Build: changeResponse(resumingKey, func(_ *http.Request, a *answer) {
		if a.status >= 300 {
			a.body = []byte("no such key")
			a.header.Set("Content-Type", "text/plain")
		}
	})},
	{ID: "FLC-002.3", Text: "the error of a resume is an object", Build: changeResponse(resumingKey, func(_ *http.Request, a *answer) {
		if a.status >= 300 {
			a.body = []byte(`{"error":{"message":"no such key"}}`)
		}
	})},
	{ID: "FLC-002.4", Text: "the error of a resume is null", Build: changeResponse(resumingKey, func(_ *http.Request, a *answer) {
		if a.status >= 300 {
			a.body = []byte(`{"error":null,"code":404}`)
		}
	})},
	{ID: "FLC-003.1", Text: "a resume frees other keys too", Build: func(hit func()) mutantParts {
		return wrapMatching(resumingKey, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			other := r.Clone(r.Context())
			other.URL.Path = strings.Replace(other.URL.Path, "-key/resume", "-otherkey/resume", 1)
			serverAnswer(next, other)
			next.ServeHTTP(w, r)
		})
	}},
	{ID: "FLC-003.2", Text: "a resume frees the keys that begin with its key", Build: freesLonger},
	{ID: "FLC-004.1", Text: "a key is cut at an encoded slash", Build: changeRequest(resumingKey, func(r *http.Request) {
		if i := strings.Index(r.URL.EscapedPath(), "%2F"); i > 0 {
			r.URL.Path, r.URL.RawPath = r.URL.EscapedPath()[:i]+"/resume", ""
		}
	})},
	{ID: "FLC-005.1", Text: "a message that was held has lost its body", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasPrefix(string(readBody(r)), "held ") {
			setBody(r, []byte("held"))
		}
		return next.RoundTrip(r)
	})},
}

// heldBack delivers only the first of the held messages of a destination.
func heldBack(hit func()) mutantParts {
	var mu sync.Mutex
	seen := map[string]bool{}
	return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasPrefix(string(readBody(r)), "held ") {
			mu.Lock()
			again := seen[r.URL.Path]
			seen[r.URL.Path] = true
			mu.Unlock()
			if again {
				return fakeDelivery(), nil
			}
		}
		return next.RoundTrip(r)
	})(hit)
}

// resumedOnce ignores every resume of a key after the first one.
func resumedOnce(hit func()) mutantParts {
	var mu sync.Mutex
	seen := map[string]bool{}
	return wrapMatching(resumingKey, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		key := r.Header.Get("Authorization") + r.URL.Path
		mu.Lock()
		again := seen[key]
		mu.Unlock()
		if again {
			_, _ = w.Write([]byte("{}"))
			return
		}
		a := serverAnswer(next, r)
		if a.status < 300 {
			mu.Lock()
			seen[key] = true
			mu.Unlock()
		}
		a.write(w)
	})
}

// lastOfMany resumes only the last of the keys that are resumed concurrently.
func lastOfMany(hit func()) mutantParts {
	var mu sync.Mutex
	latest := map[string]string{} // credential -> key
	return wrapMatching(resumingKey, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		by := r.Header.Get("Authorization")
		mu.Lock()
		latest[by] = r.URL.Path
		mu.Unlock()
		waitFor(r.Context(), 30*time.Millisecond)
		mu.Lock()
		superseded := latest[by] != r.URL.Path
		mu.Unlock()
		if superseded {
			_, _ = w.Write([]byte("{}"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// freesLonger also resumes the keys that begin with the requested one.
func freesLonger(hit func()) mutantParts {
	var mu sync.Mutex
	var paused []string
	return wrapMatching(matchPath("POST", "("+route.PauseFlowControlKey.Pattern()+"|"+route.ResumeFlowControlKey.Pattern()+")"), hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		key, _ := strings.CutSuffix(r.URL.EscapedPath(), "/pause")
		if !resumingKey(r) {
			mu.Lock()
			paused = append(paused, key)
			mu.Unlock()
			next.ServeHTTP(w, r)
			return
		}
		key, _ = strings.CutSuffix(r.URL.EscapedPath(), "/resume")
		mu.Lock()
		all := slices.Clone(paused)
		mu.Unlock()
		a := serverAnswer(next, r.Clone(r.Context()))
		for _, other := range all {
			if other != key && strings.HasPrefix(other, key) {
				c := r.Clone(r.Context())
				c.URL.RawPath = other + "/resume"
				c.URL.Path, _ = url.PathUnescape(c.URL.RawPath)
				serverAnswer(next, c)
			}
		}
		a.write(w)
	})
}
