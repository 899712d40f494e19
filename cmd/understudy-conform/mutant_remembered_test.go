package main

import (
	"net/http"
	"sync"
)

// remembered stores the last valid credential, or the last one for each key.
type remembered struct {
	by func(*http.Request) string // nil: one credential for all requests

	mu   sync.Mutex
	seen map[string]string
}

func (k *remembered) key(r *http.Request) string {
	if k.by == nil {
		return ""
	}
	return k.by(r)
}

func (k *remembered) keep(r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil {
		k.seen = map[string]string{}
	}
	if v := r.Header.Get("Authorization"); v != "" {
		k.seen[k.key(r)] = v
	}
}

// use sets the stored credential on a request and reports whether there is one.
func (k *remembered) use(r *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.seen[k.key(r)]
	if ok {
		r.Header.Set("Authorization", v)
		dropQuery(r, func(name string) bool { return name == "svc_token" })
	}
	return ok
}
