package ratelimit

import "fmt"

// duplicates finds strategies that would count the same requests twice: one per
// method, path and source is accepted. It takes the document as it came, so
// that it finds them whatever else is wrong.
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
				key, fault = fmt.Sprintf("strategy[%d].methods[%d]", i, j), "stands twice"
			}
			p := Problem{Key: key, Fault: fault, Accepted: "one strategy for a method, path and identifierSource"}
			if first == i {
				p.Value, p.Accepted = shown(method), "each method once"
			}
			out = append(out, p)
		}
	}
	return out
}
