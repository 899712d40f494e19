package mutant

import (
	"net/http"
	"strings"
)

// search breaks the deletion of search indexes. Sorted by id.
var search = []Mutant{
	{ID: "SRC-001.1", Text: "a delete answers 204 without a body", Build: respond(deleting, func(_ *http.Request, a *answer) { a.status, a.body = http.StatusNoContent, nil })},
	{ID: "SRC-001.2", Text: "a delete answers an object", Build: respond(deleting, func(_ *http.Request, a *answer) { a.body = []byte(`{"deleted":true}`) })},
	{ID: "SRC-002.1", Text: "a delete answers 200, the index is still there", Build: func(hit func()) Parts {
		return wrap(deleting, hit, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`"OK"`))
		})
	}},
	{ID: "SRC-003.1", Text: "a delete removes all indexes", Build: func(hit func()) Parts {
		return wrap(deleting, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			list := r.Clone(r.Context())
			list.Method, list.URL.Path = http.MethodGet, "/v2/search"
			all, _ := decoded(call(next, list).body).([]any)
			for _, item := range all {
				e, _ := item.(map[string]any)
				if id, _ := e["id"].(string); id != "" && !strings.HasSuffix(r.URL.Path, id) {
					other := r.Clone(r.Context())
					other.URL.Path = "/v2/search/" + id
					call(next, other)
				}
			}
			next.ServeHTTP(w, r)
		})
	}},
}
