package ratelimit

import "fmt"

// duplicates finds strategies that would count the same requests twice: each method,
// path and source may have only one. It takes the raw document, so that it finds
// duplicates also in an invalid configuration.
func duplicates(document any) (out []Problem) {
	object, _ := document.(map[string]any)
	strategies, _ := object["strategy"].([]any)
	seen := map[[3]string]int{}
	for i, item := range strategies {
		strategy, _ := item.(map[string]any)
		path, _ := strategy["path"].(string)
		source, _ := strategy["identifierSource"].(string)
		methods, _ := strategy["methods"].([]any)
		if path == "" || source == "" {
			continue
		}
		for j, method := range methods {
			name, _ := method.(string)
			claim := [3]string{name, newRoute(path).shape(), canonicalSource(source)}
			first, taken := seen[claim]
			if !taken {
				seen[claim] = i
				continue
			}
			key, fault := fmt.Sprintf("strategy[%d]", i), fmt.Sprintf("limits %s %s by %s as strategy[%d] does", name, path, source, first)
			if first == i {
				key, fault = fmt.Sprintf("strategy[%d].methods[%d]", i, j), "given twice"
			}
			p := Problem{Key: key, Fault: fault, Accepted: "the only strategy for its methods, path and identifierSource"}
			if first == i {
				p.Value, p.Accepted = shown(method), "given once"
			}
			out = append(out, p)
		}
	}
	return out
}
