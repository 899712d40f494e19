package mutant

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// auth breaks signing in. Sorted by id.
var auth = []Mutant{
	{ID: "AUT-001.1", Text: "a publish without credentials is accepted", Build: withRight(publishing, func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "" && !r.URL.Query().Has("svc_token")
	})},
	{ID: "AUT-001.2", Text: "the dead letter queue is open to everybody", Build: withRight(listingDLQ, func(r *http.Request) bool { return r.Header.Get("Authorization") == "" })},
	{ID: "AUT-001.3", Text: "a publish without credentials is refused, and delivered all the same", Build: refusedYetDone},
	{ID: "AUT-002.1", Text: "any token in the query is accepted", Build: withRight(publishing, func(r *http.Request) bool { return r.URL.Query().Has("svc_token") })},
	{ID: "AUT-002.2", Text: "the logs take any token", Build: withRight(listingLog, func(*http.Request) bool { return true })},
	{ID: "AUT-002.3", Text: "the statistics look at the user name only", Build: statisticsByName},
	{ID: "AUT-003.1", Text: "the password is cut at a second colon", Build: request(statistics, func(r *http.Request) {
		kind, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		plain, err := base64.StdEncoding.DecodeString(text)
		if parts := strings.SplitN(string(plain), ":", 3); err == nil && len(parts) == 3 {
			r.Header.Set("Authorization", kind+" "+base64.StdEncoding.EncodeToString([]byte(parts[0]+":"+parts[1])))
		}
	})},
	{ID: "AUT-004.1", Text: "the vector index does not take a Bearer token", Build: request(informing, func(r *http.Request) { r.Header.Del("Authorization") })},
	{ID: "AUT-004.2", Text: "the statistics do not take HTTP Basic", Build: request(statistics, func(r *http.Request) { r.Header.Del("Authorization") })},
}

// withRight lets requests that fit in: with the last right credential of their
// operation.
func withRight(m matching, fits func(*http.Request) bool) func(func()) Parts {
	return func(hit func()) Parts {
		last := &remembered{}
		return wrap(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			text := body(r)
			a := call(next, r)
			if a.status < 300 {
				last.keep(r)
				a.write(w)
				return
			}
			if (a.status == http.StatusUnauthorized || a.status == http.StatusForbidden) && fits(r) {
				again := r.Clone(r.Context())
				setBody(again, text)
				if last.use(again) {
					a = call(next, again)
				}
			}
			a.write(w)
		})
	}
}

// statisticsByName lets in whoever knows the name.
func statisticsByName(hit func()) Parts {
	name := func(r *http.Request) string {
		_, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		plain, _ := base64.StdEncoding.DecodeString(text)
		user, _, _ := strings.Cut(string(plain), ":")
		return user
	}
	known := &remembered{by: name}
	return wrap(statistics, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := call(next, r)
		if a.status < 300 {
			known.keep(r)
		} else if again := r.Clone(r.Context()); known.use(again) {
			a = call(next, again)
		}
		a.write(w)
	})
}

// refusedYetDone delivers what it refuses.
func refusedYetDone(hit func()) Parts {
	last := &remembered{}
	return wrap(publishing, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		text := body(r)
		a := call(next, r)
		if a.status < 300 {
			last.keep(r)
		} else if a.status == http.StatusUnauthorized {
			again := r.Clone(r.Context())
			setBody(again, text)
			if last.use(again) {
				call(next, again)
			}
		}
		a.write(w)
	})
}
