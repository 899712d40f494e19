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
	{ID: "VEC-001.1", Text: "the information is at the top level", Build: replyAny(informing, func(_ *http.Request, v any) any {
		object, _ := v.(map[string]any)
		return object["result"]
	})},
	{ID: "VEC-001.2", Text: "the information is in a list under result", Build: reply(informing, func(_ *http.Request, v map[string]any) { v["result"] = []any{v["result"]} })},
	{ID: "VEC-001.3", Text: "the information answers 202", Build: status(informing, http.StatusAccepted)},
	{ID: "VEC-002.1", Text: "vectorCount is a text", Build: info(func(v map[string]any) { v["vectorCount"] = fmt.Sprint(v["vectorCount"]) })},
	{ID: "VEC-002.2", Text: "indexSize is missing", Build: info(func(v map[string]any) { delete(v, "indexSize") })},
	{ID: "VEC-002.3", Text: "dimension is a text", Build: info(func(v map[string]any) { v["dimension"] = fmt.Sprint(v["dimension"]) })},
	{ID: "VEC-003.1", Text: "the default namespace is not listed", Build: info(func(v map[string]any) { delete(namespaces(v), "") })},
	{ID: "VEC-003.2", Text: "the default namespace has the name default", Build: info(func(v map[string]any) {
		n := namespaces(v)
		n["default"] = n[""]
		delete(n, "")
	})},
	{ID: "VEC-003.3", Text: "the default namespace is listed when it holds vectors", Build: info(func(v map[string]any) {
		n := namespaces(v)
		if first, ok := n[""].(map[string]any); ok && whole(first, "vectorCount") == 0 {
			delete(n, "")
		}
	})},
	{ID: "VEC-004.1", Text: "the total misses all namespaces but the default one", Build: info(func(v map[string]any) {
		if first, ok := namespaces(v)[""].(map[string]any); ok {
			v["vectorCount"], v["pendingVectorCount"] = first["vectorCount"], first["pendingVectorCount"]
		}
	})},
	{ID: "VEC-004.2", Text: "the total counts the default namespace twice", Build: info(func(v map[string]any) {
		v["vectorCount"] = number(2 * whole(v, "vectorCount"))
	})},
	{ID: "VEC-004.3", Text: "the pending vectors of one namespace are missing in the total", Build: info(func(v map[string]any) {
		v["pendingVectorCount"] = number(whole(v, "pendingVectorCount") + 1)
	})},
	{ID: "VEC-005.1", Text: "the index type is written in lower case", Build: info(func(v map[string]any) { v["indexType"] = "dense" })},
	{ID: "VEC-005.2", Text: "the index type is DENSE_INDEX", Build: info(func(v map[string]any) { v["indexType"] = text(v["indexType"]) + "_INDEX" })},
	{ID: "VEC-005.3", Text: "the index type is null", Build: info(func(v map[string]any) { v["indexType"] = nil })},
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
	{ID: "VEC-006.3", Text: "sparseIndex lacks embeddingModel", Build: info(func(v map[string]any) { v["sparseIndex"] = map[string]any{} })},
	{ID: "VEC-007.1", Text: "a namespace has no pendingVectorCount", Build: info(func(v map[string]any) {
		for _, n := range namespaces(v) {
			if m, ok := n.(map[string]any); ok {
				delete(m, "pendingVectorCount")
			}
		}
	})},
	{ID: "VEC-007.2", Text: "the counts of a namespace are texts", Build: info(func(v map[string]any) {
		for _, n := range namespaces(v) {
			if m, ok := n.(map[string]any); ok {
				m["vectorCount"] = fmt.Sprint(m["vectorCount"])
			}
		}
	})},
	{ID: "VEC-007.3", Text: "only the default namespace has its counts", Build: info(func(v map[string]any) {
		for name := range namespaces(v) {
			if name != "" {
				namespaces(v)[name] = map[string]any{}
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
