package main

import (
	"fmt"
	"net/http"
)

// changeInfo changes the answer about an index.
func changeInfo(change func(v map[string]any)) func(func()) mutantParts {
	return changeReply(readingInfo, func(_ *http.Request, v map[string]any) {
		if result, ok := v["result"].(map[string]any); ok {
			change(result)
		}
	})
}

func namespacesOf(v map[string]any) map[string]any {
	m, _ := v["namespaces"].(map[string]any)
	return m
}

// vectorMutants break the information about vector indexes. Sorted by id.
var vectorMutants = []mutant{
	{ID: "VEC-001.1", Text: "the information is at the top level", Build: replyAny(readingInfo, func(_ *http.Request, v any) any {
		object, _ := v.(map[string]any)
		return object["result"]
	})},
	{ID: "VEC-001.2", Text: "the information is in a list under result", Build: changeReply(readingInfo, func(_ *http.Request, v map[string]any) { v["result"] = []any{v["result"]} })},
	{ID: "VEC-001.3", Text: "the information answers 202", Build: changeStatus(readingInfo, http.StatusAccepted)},
	{ID: "VEC-002.1", Text: "vectorCount is a text", Build: changeInfo(func(v map[string]any) { v["vectorCount"] = fmt.Sprint(v["vectorCount"]) })},
	{ID: "VEC-002.2", Text: "indexSize is missing", Build: changeInfo(func(v map[string]any) { delete(v, "indexSize") })},
	{ID: "VEC-002.3", Text: "dimension is a text", Build: changeInfo(func(v map[string]any) { v["dimension"] = fmt.Sprint(v["dimension"]) })},
	{ID: "VEC-003.1", Text: "the default namespace is not listed", Build: changeInfo(func(v map[string]any) { delete(namespacesOf(v), "") })},
	{ID: "VEC-003.2", Text: "the default namespace has the name default", Build: changeInfo(func(v map[string]any) {
		n := namespacesOf(v)
		n["default"] = n[""]
		delete(n, "")
	})},
	{ID: "VEC-003.3", Text: "the default namespace is listed when it holds vectors", Build: changeInfo(func(v map[string]any) {
		n := namespacesOf(v)
		if first, ok := n[""].(map[string]any); ok && integerOf(first, "vectorCount") == 0 {
			delete(n, "")
		}
	})},
	{ID: "VEC-004.1", Text: "the total misses all namespaces but the default one", Build: changeInfo(func(v map[string]any) {
		if first, ok := namespacesOf(v)[""].(map[string]any); ok {
			v["vectorCount"], v["pendingVectorCount"] = first["vectorCount"], first["pendingVectorCount"]
		}
	})},
	{ID: "VEC-004.2", Text: "the total counts the default namespace twice", Build: changeInfo(func(v map[string]any) {
		v["vectorCount"] = jsonNumber(2 * integerOf(v, "vectorCount"))
	})},
	{ID: "VEC-004.3", Text: "the pending vectors of one namespace are missing in the total", Build: changeInfo(func(v map[string]any) {
		v["pendingVectorCount"] = jsonNumber(integerOf(v, "pendingVectorCount") + 1)
	})},
	{ID: "VEC-005.1", Text: "the index type is written in lower case", Build: changeInfo(func(v map[string]any) { v["indexType"] = "dense" })},
	{ID: "VEC-005.2", Text: "the index type is DENSE_INDEX", Build: changeInfo(func(v map[string]any) { v["indexType"] = textOf(v["indexType"]) + "_INDEX" })},
	{ID: "VEC-005.3", Text: "the index type is null", Build: changeInfo(func(v map[string]any) { v["indexType"] = nil })},
	{ID: "VEC-006.1", Text: "denseIndex lacks embeddingModel", Build: changeInfo(func(v map[string]any) {
		if d, ok := v["denseIndex"].(map[string]any); ok {
			delete(d, "embeddingModel")
		}
	})},
	{ID: "VEC-006.2", Text: "the similarity function of denseIndex is cosine", Build: changeInfo(func(v map[string]any) {
		if d, ok := v["denseIndex"].(map[string]any); ok {
			d["similarityFunction"] = "cosine"
		}
	})},
	{ID: "VEC-006.3", Text: "sparseIndex lacks embeddingModel", Build: changeInfo(func(v map[string]any) { v["sparseIndex"] = map[string]any{} })},
	{ID: "VEC-007.1", Text: "a namespace has no pendingVectorCount", Build: changeInfo(func(v map[string]any) {
		for _, n := range namespacesOf(v) {
			if m, ok := n.(map[string]any); ok {
				delete(m, "pendingVectorCount")
			}
		}
	})},
	{ID: "VEC-007.2", Text: "the counts of a namespace are texts", Build: changeInfo(func(v map[string]any) {
		for _, n := range namespacesOf(v) {
			if m, ok := n.(map[string]any); ok {
				m["vectorCount"] = fmt.Sprint(m["vectorCount"])
			}
		}
	})},
	{ID: "VEC-007.3", Text: "only the default namespace has its counts", Build: changeInfo(func(v map[string]any) {
		for name := range namespacesOf(v) {
			if name != "" {
				namespacesOf(v)[name] = map[string]any{}
			}
		}
	})},
	{ID: "VEC-008.1", Text: "new vectors are never counted", Build: changeInfo(func(v map[string]any) {
		v["vectorCount"], v["pendingVectorCount"] = jsonNumber(0), jsonNumber(0)
		for _, n := range namespacesOf(v) {
			if m, ok := n.(map[string]any); ok {
				m["vectorCount"], m["pendingVectorCount"] = jsonNumber(0), jsonNumber(0)
			}
		}
	})},
}
