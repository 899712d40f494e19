package mutant

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// auth breaks signing in. Sorted by id.
var auth = []Mutant{
	{"M07", "AUT-002", "any token in the query is accepted", nil, withRight(publishing, func(r *http.Request) bool { return r.URL.Query().Has("svc_token") })},
	{"M91", "AUT-003", "the password is cut at a second colon", nil, request(statistics, func(r *http.Request) {
		kind, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		plain, err := base64.StdEncoding.DecodeString(text)
		if parts := strings.SplitN(string(plain), ":", 3); err == nil && len(parts) == 3 {
			r.Header.Set("Authorization", kind+" "+base64.StdEncoding.EncodeToString([]byte(parts[0]+":"+parts[1])))
		}
	})},
	{"M220", "AUT-001", "a publish without credentials is accepted", nil, withRight(publishing, func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "" && !r.URL.Query().Has("svc_token")
	})},
	{"M221", "AUT-001", "the dead letter queue is open to everybody", nil, withRight(listingDLQ, func(r *http.Request) bool { return r.Header.Get("Authorization") == "" })},
	{"M222", "AUT-002", "the logs take any token", nil, withRight(listingLog, func(*http.Request) bool { return true })},
	{"M223", "AUT-002", "the statistics look at the user name only", nil, statisticsByName},
	{"M224", "AUT-004", "the vector index does not take a Bearer token", []string{"VEC-001", "VEC-002", "VEC-003", "VEC-004", "VEC-005", "VEC-006", "VEC-007"}, request(informing, func(r *http.Request) { r.Header.Del("Authorization") })},
	{"M225", "AUT-004", "the statistics do not take HTTP Basic", []string{"AUT-003", "STA-001", "STA-002", "STA-003", "STA-004", "STA-005", "STA-007", "STA-008", "STA-009", "STA-010", "STA-011"}, request(statistics, func(r *http.Request) { r.Header.Del("Authorization") })},
	{"M226", "AUT-001", "a publish without credentials is refused, and delivered all the same", nil, refusedYetDone},
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
