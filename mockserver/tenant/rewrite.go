package tenant

import (
	"maps"
	"strings"
	"sync/atomic"
)

// Rewrites replace URL prefixes of deliveries; the longest one applies. The map is
// replaced as a whole and never changed, so that it needs no lock.
type Rewrites struct {
	from atomic.Pointer[map[string]string]
}

// Set replaces all of them.
func (r *Rewrites) Set(m map[string]string) {
	from := make(map[string]string, len(m))
	maps.Copy(from, m)
	r.from.Store(&from)
}

// Get returns a map that is never nil: clients read a JSON object.
func (r *Rewrites) Get() map[string]string {
	if from := r.from.Load(); from != nil {
		return *from
	}
	return map[string]string{}
}

// Apply replaces the longest prefix that ends at the end of a part of the URL.
func (r *Rewrites) Apply(target string) string {
	prefixes := r.Get()
	best := ""
	for from := range prefixes {
		rest, ok := strings.CutPrefix(target, from)
		if ok && len(from) > len(best) && (rest == "" || strings.HasSuffix(from, "/") || strings.ContainsRune("/?#", rune(rest[0]))) {
			best = from
		}
	}
	if best == "" {
		return target
	}
	return prefixes[best] + target[len(best):]
}
