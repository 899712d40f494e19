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
	{"M89", "VEC-003", "the default namespace is not listed", []string{"VEC-002", "VEC-007"}, info(func(v map[string]any) { delete(namespaces(v), "") })},
	{"M109", "VEC-002", "vectorCount is a text", []string{"VEC-004"}, info(func(v map[string]any) { v["vectorCount"] = fmt.Sprint(v["vectorCount"]) })},
	{"M111", "VEC-006", "denseIndex lacks embeddingModel", nil, info(func(v map[string]any) {
		if d, ok := v["denseIndex"].(map[string]any); ok {
			delete(d, "embeddingModel")
		}
	})},
	{"M350", "VEC-001", "the information stands at the top level", []string{"VEC-002", "VEC-003", "VEC-004", "VEC-005", "VEC-006", "VEC-007"}, replyAny(informing, func(_ *http.Request, v any) any {
		object, _ := v.(map[string]any)
		return object["result"]
	})},
	{"M351", "VEC-004", "the total misses all namespaces but the default one", nil, info(func(v map[string]any) {
		if first, ok := namespaces(v)[""].(map[string]any); ok {
			v["vectorCount"], v["pendingVectorCount"] = first["vectorCount"], first["pendingVectorCount"]
		}
	})},
	{"M352", "VEC-005", "the index type is written in lower case", nil, info(func(v map[string]any) { v["indexType"] = "dense" })},
	{"M353", "VEC-002", "indexSize is missing", nil, info(func(v map[string]any) { delete(v, "indexSize") })},
	{"M354", "VEC-007", "a namespace has no pendingVectorCount", []string{"VEC-003"}, info(func(v map[string]any) {
		for _, n := range namespaces(v) {
			if m, ok := n.(map[string]any); ok {
				delete(m, "pendingVectorCount")
			}
		}
	})},
	{"M355", "VEC-006", "the similarity function of denseIndex is cosine", nil, info(func(v map[string]any) {
		if d, ok := v["denseIndex"].(map[string]any); ok {
			d["similarityFunction"] = "cosine"
		}
	})},
	{"M356", "VEC-008", "new vectors are never counted", []string{"VEC-004"}, info(func(v map[string]any) {
		v["vectorCount"], v["pendingVectorCount"] = number(0), number(0)
		for _, n := range namespaces(v) {
			if m, ok := n.(map[string]any); ok {
				m["vectorCount"], m["pendingVectorCount"] = number(0), number(0)
			}
		}
	})},
}
