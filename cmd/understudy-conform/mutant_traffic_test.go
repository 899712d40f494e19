package main

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// onGroups matches a publish whose destination is the name of a URL group.
func onGroups(r *http.Request) bool {
	return publishingMessage(r) && !strings.Contains(r.URL.Path, "://")
}

// ofWorkflow reports whether a publish belongs to a run.
func ofWorkflow(r *http.Request) bool {
	return r.Header.Get(header.WorkflowInit) != "" || r.Header.Get(header.WorkflowRunID) != ""
}

func forwardsByQuery(r *http.Request) bool {
	return r.URL.Query().Get(header.Query(header.HeaderForward)) == "true"
}

// ordinaryHeader reports whether a header is an application header without the prefix X-.
func ordinaryHeader(name string) bool {
	for _, prefix := range []string{"X-", header.Prefix, "Content-", "Accept", "Authorization", "User-Agent"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// inPath changes the escaped path of the destination of a message.
func inPath(change func(path string) string) func(r *http.Request) {
	return func(r *http.Request) {
		scheme, rest, ok := strings.Cut(r.URL.EscapedPath(), "://")
		if !ok || ofWorkflow(r) {
			return
		}
		host, path, _ := strings.Cut(rest, "/")
		raw := scheme + "://" + host + "/" + change(path)
		if plain, err := url.PathUnescape(raw); err == nil {
			r.URL.Path, r.URL.RawPath = plain, raw
		}
	}
}

// dropAllButFirst keeps only the first matching header, by name.
func dropAllButFirst(h http.Header, fits func(name string) bool) {
	kept := false
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if fits(name) {
			if kept {
				delete(h, name)
			}
			kept = true
		}
	}
}

// firstValues keeps only the first value of each header that begins with a prefix.
func firstValues(prefix string) func(r *http.Request) {
	return func(r *http.Request) {
		for name, values := range r.Header {
			if strings.HasPrefix(name, prefix) {
				r.Header[name] = values[:1]
			}
		}
	}
}

// prefixHeaders adds a prefix to the names of the application's headers.
func prefixHeaders(h http.Header) {
	for name, values := range maps.Clone(h) {
		if strings.HasPrefix(name, "X-") {
			delete(h, name)
			h["Prefixed-"+name] = values
		}
	}
}

// droppedSoonAfter drops a message that is delivered to a destination within half a second
// of another one.
func droppedSoonAfter(fits func(r *http.Request) bool) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		last := &recent{within: 500 * time.Millisecond}
		return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if fits(r) && last.follows(r.URL.Path, r.Header.Get(header.MessageID)) {
				return fakeDelivery(), nil
			}
			return next.RoundTrip(r)
		})(hit)
	}
}

// droppedTwin drops a message with the destination and body of an earlier one.
func droppedTwin(hit func()) mutantParts {
	var mu sync.Mutex
	first := map[string]string{} // destination and body -> message
	return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		key, id := r.URL.String()+"\n"+string(readBody(r)), r.Header.Get(header.MessageID)
		mu.Lock()
		if first[key] == "" {
			first[key] = id
		}
		twin := first[key] != id
		mu.Unlock()
		if twin {
			return fakeDelivery(), nil
		}
		return next.RoundTrip(r)
	})(hit)
}

// crossBodies stores request bodies in one variable, so that concurrent requests overwrite
// each other's.
func crossBodies(m matching) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		var mu sync.Mutex
		var latest []byte
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if !ofWorkflow(r) {
				mu.Lock()
				latest = readBody(r)
				mu.Unlock()
				waitFor(r.Context(), 30*time.Millisecond)
				mu.Lock()
				setBody(r, latest)
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	}
}

// crossedAnswers stores all answers in one variable, so that concurrent ones overwrite each other.
func crossedAnswers(m matching) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		var mu sync.Mutex
		var latest answer
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := serverAnswer(next, r)
			if a.status >= 300 {
				a.write(w)
				return
			}
			mu.Lock()
			latest = a
			mu.Unlock()
			waitFor(r.Context(), 30*time.Millisecond)
			mu.Lock()
			a = latest
			mu.Unlock()
			a.write(w)
		})
	}
}

// topics stores the names of the groups that each credential has created.
type topics struct {
	mu    sync.Mutex
	names map[string][]string
}

// of returns the group of a request and all group names of its credential.
func (t *topics) of(r *http.Request) (name string, all []string) {
	parts := strings.SplitN(r.URL.Path, "/", 5)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = map[string][]string{}
	}
	by := r.Header.Get("Authorization")
	name = parts[3]
	if parts[2] == "topics" && !slices.Contains(t.names[by], name) {
		t.names[by] = append(t.names[by], name)
	}
	return name, slices.Clone(t.names[by])
}

var aboutGroups = matchPath("", "("+route.GetURLGroup.Path()+".*|"+route.PublishMessage.Path()+"[^:]*)")

// updateOfAll applies an update to every group of the account.
func updateOfAll(hit func()) mutantParts {
	var known topics
	return wrapMatching(aboutGroups, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		name, all := known.of(r)
		if updatingGroup(r) {
			text := readBody(r)
			for _, other := range all {
				if other != name {
					c := r.Clone(r.Context())
					c.URL.Path = route.GetURLGroup.Path() + other
					setBody(c, text)
					serverAnswer(next, c)
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// shorterName publishes to a group whose name is a prefix of the requested one.
func shorterName(hit func()) mutantParts {
	var known topics
	return wrapMatching(aboutGroups, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		name, all := known.of(r)
		for _, other := range all {
			if publishingMessage(r) && other != name && strings.HasPrefix(name, other) {
				r.URL.Path, r.URL.RawPath = route.PublishMessage.Path()+other, ""
			}
		}
		next.ServeHTTP(w, r)
	})
}

// firstUpdate applies the first update of each header only.
func firstUpdate(hit func()) mutantParts {
	var mu sync.Mutex
	seen := map[string]bool{}
	return changeRequest(updatingGroup, func(r *http.Request) {
		v, _ := decodeJSON(readBody(r)).(map[string]any)
		headers, _ := v["headers"].(map[string]any)
		mu.Lock()
		defer mu.Unlock()
		for name := range headers {
			key := r.URL.Path + " " + name
			if seen[key] {
				delete(headers, name)
			}
			seen[key] = true
		}
		setBody(r, encodeJSON(v))
	})(hit)
}

// defaultsUnless removes the default headers from messages that match.
func defaultsUnless(fits func(r *http.Request) bool) func(func()) mutantParts {
	return joinChanges(changeRequest(onGroups, func(r *http.Request) {
		if fits(r) {
			r.Header.Set(header.ForwardPrefix+"X-Bare", "1")
		}
	}), changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Header.Get("X-Bare") != "" {
			r.Header.Del("X-Bare")
			r.Header.Del("X-Team")
		}
		return next.RoundTrip(r)
	}))
}

// neighboursSilenced stops calling the other endpoints of a group after one of them has failed.
func neighboursSilenced(hit func()) mutantParts {
	var mu sync.Mutex
	bad := map[string]string{} // group -> the endpoint that failed
	return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		name := r.Header.Get(header.TopicName)
		mu.Lock()
		failing := bad[name]
		mu.Unlock()
		if name != "" && failing != "" && failing != r.URL.Path {
			return fakeDelivery(), nil
		}
		response, err := next.RoundTrip(r)
		if name != "" && err == nil && response.StatusCode >= 500 {
			mu.Lock()
			bad[name] = r.URL.Path
			mu.Unlock()
		}
		return response, err
	})(hit)
}
