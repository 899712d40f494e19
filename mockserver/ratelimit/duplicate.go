package ratelimit

import (
	"encoding/json"
	"fmt"
	"strings"
)

// repeatedKeys finds keys that an object has twice: decoding keeps the last one only. The
// text of the decoder is valid JSON.
func repeatedKeys(d *json.Decoder, at string) (out []Problem) {
	open, _ := d.Token()
	seen := map[string]bool{}
	for i := 0; (open == json.Delim('{') || open == json.Delim('[')) && d.More(); i++ {
		place := fmt.Sprintf("%s[%d]", at, i)
		if open == json.Delim('{') {
			key, _ := d.Token()
			name := fmt.Sprint(key)
			if place = strings.TrimPrefix(at+"."+name, "."); seen[name] {
				out = append(out, Problem{Key: place, Fault: "given twice", Accepted: "given once"})
			}
			seen[name] = true
		}
		out = append(out, repeatedKeys(d, place)...)
	}
	if _, nested := open.(json.Delim); nested {
		_, _ = d.Token() // the end
	}
	return out
}

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
