package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// pool stores all credentials that a server has accepted.
type pool struct {
	mu   sync.Mutex
	seen []string
}

func (p *pool) keep(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := r.Header.Get("Authorization"); v != "" && !slices.Contains(p.seen, v) {
		p.seen = append(p.seen, v)
	}
}

func (p *pool) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func withoutCredentials(r *http.Request) bool {
	return r.Header.Get("Authorization") == "" && !r.URL.Query().Has("svc_token")
}

func withCredentials(r *http.Request) bool { return !withoutCredentials(r) }

func refusalStatus(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound
}

// poolCredentials is middleware that collects valid credentials. It calls refused for accepted and
// refused requests; again, nil for accepted ones, repeats the request with another credential.
func poolCredentials(hit func(), refused func(r *http.Request, a answer, all []string, again func(credential string) answer) answer) mutantParts {
	p := &pool{}
	everything := func(r *http.Request) bool { return !hostingPath(r) }
	return wrapMatching(everything, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		text, plain := readBody(r), r.Clone(r.Context())
		a := serverAnswer(next, r)
		switch {
		case a.status < 300:
			p.keep(plain)
			a = refused(plain, a, p.all(), nil)
		case refusalStatus(a.status):
			a = refused(plain, a, p.all(), func(credential string) answer {
				c := plain.Clone(plain.Context())
				c.Header.Set("Authorization", credential)
				dropQuery(c, func(name string) bool { return name == "svc_token" })
				setBody(c, text)
				return serverAnswer(next, c)
			})
		}
		a.write(w)
	})
}

// letIn accepts matching requests by the first stored credential that works.
func letIn(m matching, fits func(*http.Request) bool) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return poolCredentials(hit, func(r *http.Request, a answer, all []string, again func(string) answer) answer {
			if again == nil || !m(r) || !fits(r) {
				return a
			}
			for _, credential := range all {
				if b := again(credential); b.status < 300 {
					return b
				}
			}
			return a
		})
	}
}

// refusedYet answers with a refusal but executes the request.
func refusedYet(m matching) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return poolCredentials(hit, func(r *http.Request, a answer, all []string, again func(string) answer) answer {
			if again != nil && m(r) && withoutCredentials(r) {
				for _, credential := range all {
					if again(credential).status < 300 {
						break
					}
				}
			}
			return a
		})
	}
}

// likeRight accepts a Bearer token that is similar to a valid one.
func likeRight(like func(given, right string) bool) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return poolCredentials(hit, func(r *http.Request, a answer, all []string, again func(string) answer) answer {
			given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if again == nil || !ok || given == "" {
				return a
			}
			for _, credential := range all {
				if right, ok := strings.CutPrefix(credential, "Bearer "); ok && like(given, right) {
					if b := again(credential); b.status < 300 {
						return b
					}
				}
			}
			return a
		})
	}
}

// asEverybody executes a request for every known account and joins the lists.
func asEverybody(m matching) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		p := &pool{}
		return wrapMatching(func(r *http.Request) bool { return !hostingPath(r) }, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			text, plain := readBody(r), r.Clone(r.Context())
			a := serverAnswer(next, r)
			if a.status < 300 {
				p.keep(plain)
			}
			if !m(plain) || a.status == http.StatusUnauthorized {
				a.write(w)
				return
			}
			for _, credential := range p.all() {
				if credential == plain.Header.Get("Authorization") {
					continue
				}
				c := plain.Clone(plain.Context())
				c.Header.Set("Authorization", credential)
				setBody(c, text)
				if b := serverAnswer(next, c); b.status < 300 {
					a = joinAnswers(a, b)
				}
			}
			a.write(w)
		})
	}
}

// joinAnswers adds the items of one answer to another.
func joinAnswers(a, b answer) answer {
	if a.status >= 300 {
		return b
	}
	x, _ := decodeJSON(a.body).(map[string]any)
	y, _ := decodeJSON(b.body).(map[string]any)
	for _, list := range []string{"messages", "events"} {
		mine, ok := x[list].([]any)
		others, _ := y[list].([]any)
		if ok {
			x[list] = append(mine, others...)
			a.body = encodeJSON(x)
		}
	}
	return a
}
