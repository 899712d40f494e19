package mutant

import (
	"fmt"
	"net/http"
)

// info changes the information about an index.
func info(change func(v map[string]any)) func(func()) Parts {
	return reply(informing, func(_ *http.Request, v map[string]any) {
		if result, ok := v["result"].(map[string]any); ok {
			change(result)
		}
	})
}

func namespaces(v map[string]any) map[string]any {
	m, _ := v["namespaces"].(map[string]any)
	return m
}

// vector breaks the information about vector indexes. Sorted by id.
var vector = []Mutant{
	{ID: "VEC-001.1", Text: "the information stands at the top level", Build: replyAny(informing, func(_ *http.Request, v any) any {
		object, _ := v.(map[string]any)
		return object["result"]
	})},
	{ID: "VEC-002.1", Text: "vectorCount is a text", Build: info(func(v map[string]any) { v["vectorCount"] = fmt.Sprint(v["vectorCount"]) })},
	{ID: "VEC-002.2", Text: "indexSize is missing", Build: info(func(v map[string]any) { delete(v, "indexSize") })},
	{ID: "VEC-003.1", Text: "the default namespace is not listed", Build: info(func(v map[string]any) { delete(namespaces(v), "") })},
	{ID: "VEC-004.1", Text: "the total misses all namespaces but the default one", Build: info(func(v map[string]any) {
		if first, ok := namespaces(v)[""].(map[string]any); ok {
			v["vectorCount"], v["pendingVectorCount"] = first["vectorCount"], first["pendingVectorCount"]
		}
	})},
	{ID: "VEC-005.1", Text: "the index type is written in lower case", Build: info(func(v map[string]any) { v["indexType"] = "dense" })},
	{ID: "VEC-006.1", Text: "denseIndex lacks embeddingModel", Build: info(func(v map[string]any) {
		if d, ok := v["denseIndex"].(map[string]any); ok {
			delete(d, "embeddingModel")
		}
	})},
	{ID: "VEC-006.2", Text: "the similarity function of denseIndex is cosine", Build: info(func(v map[string]any) {
		if d, ok := v["denseIndex"].(map[string]any); ok {
			d["similarityFunction"] = "cosine"
		}
	})},
	{ID: "VEC-007.1", Text: "a namespace has no pendingVectorCount", Build: info(func(v map[string]any) {
		for _, n := range namespaces(v) {
			if m, ok := n.(map[string]any); ok {
				delete(m, "pendingVectorCount")
			}
		}
	})},
	{ID: "VEC-008.1", Text: "new vectors are never counted", Build: info(func(v map[string]any) {
		v["vectorCount"], v["pendingVectorCount"] = number(0), number(0)
		for _, n := range namespaces(v) {
			if m, ok := n.(map[string]any); ok {
				m["vectorCount"], m["pendingVectorCount"] = number(0), number(0)
			}
		}
	})},
}
