package mutant

import (
	"net/http"
	"sync"
)

// remembered are credentials that were right: the last one, or the last for each
// key.
type remembered struct {
	by func(*http.Request) string // nil: the last one counts

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

// use puts the credential in and reports whether there was one.
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
