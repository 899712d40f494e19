package main

import (
	"net/http"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/spec/route"
)

// searchMutants break the deletion of search indexes. Sorted by id.
var searchMutants = []mutant{
	{ID: "SRC-001.1", Text: "a delete answers 204 without a body", Build: changeResponse(deletingIndex, func(_ *http.Request, a *answer) { a.status, a.body = http.StatusNoContent, nil })},
	{ID: "SRC-001.2", Text: "a delete answers an object", Build: changeResponse(deletingIndex, func(_ *http.Request, a *answer) { a.body = []byte(`{"deleted":true}`) })},
	{ID: "SRC-001.3", Text: "a delete answers null", Build: changeResponse(deletingIndex, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.body = []byte("null")
		}
	})},
	{ID: "SRC-001.4", Text: "a delete answers 202", Build: changeStatus(deletingIndex, http.StatusAccepted)},
	{ID: "SRC-002.1", Text: "a delete answers 200, the index is still there", Build: func(hit func()) mutantParts {
		return wrapMatching(deletingIndex, hit, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`"OK"`))
		})
	}},
	{ID: "SRC-002.2", Text: "a deleted index is hidden once, and then there again", Build: hiddenOnce},
	{ID: "SRC-002.3", Text: "only a second delete deletes", Build: func(hit func()) mutantParts {
		var mu sync.Mutex
		seen := map[string]bool{}
		return wrapMatching(deletingIndex, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			mu.Lock()
			again := seen[r.URL.Path]
			seen[r.URL.Path] = true
			mu.Unlock()
			if again {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`"OK"`))
		})
	}},
	{ID: "SRC-003.1", Text: "a delete removes all indexes", Build: func(hit func()) mutantParts {
		return wrapMatching(deletingIndex, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			list := r.Clone(r.Context())
			list.Method, list.URL.Path = http.MethodGet, route.ListSearchIndexes.Path()
			all, _ := decodeJSON(serverAnswer(next, list).body).([]any)
			for _, item := range all {
				e, _ := item.(map[string]any)
				if id, _ := e["id"].(string); id != "" && !strings.HasSuffix(r.URL.Path, id) {
					other := r.Clone(r.Context())
					other.URL.Path = route.GetSearchIndex.Path() + id
					serverAnswer(next, other)
				}
			}
			next.ServeHTTP(w, r)
		})
	}},
}

// hiddenOnce deletes nothing, but answers 404 to the first reading after a deletion.
func hiddenOnce(hit func()) mutantParts {
	var mu sync.Mutex
	hidden := map[string]bool{}
	return wrapMatching(matchPath("", route.GetSearchIndex.Pattern()), hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case deletingIndex(r):
			hidden[r.URL.Path] = true
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`"OK"`))
		case hidden[r.URL.Path]:
			delete(hidden, r.URL.Path)
			http.NotFound(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
