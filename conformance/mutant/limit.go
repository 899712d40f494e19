package mutant

import (
	"net/http"
	"strings"
)

// strategy is the first strategy of a plugin configuration.
func strategy(c map[string]any) map[string]any {
	list, _ := c["strategy"].([]any)
	if len(list) == 0 {
		return map[string]any{}
	}
	s, _ := list[0].(map[string]any)
	return s
}

func limiter(c map[string]any) map[string]any {
	l, _ := strategy(c)["limiter"].(map[string]any)
	if l == nil {
		l = map[string]any{}
	}
	return l
}

// plugin changes the configuration before the plugin reads it.
func plugin(change func(c map[string]any)) func(func()) Parts {
	return func(hit func()) Parts {
		return Parts{Plugin: func(c map[string]any) {
			hit()
			change(c)
		}}
	}
}

// storage changes what the plugin sends to its storage.
func storage(change func(r *http.Request)) func(func()) Parts {
	return func(hit func()) Parts {
		return Parts{Storage: func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				hit()
				change(r)
				return next.RoundTrip(r)
			})
		}}
	}
}

// given puts a value where there is none.
func given(object map[string]any, key string, v any) {
	if object[key] == nil {
		object[key] = v
	}
}

// limit breaks the rate-limit plugin. Sorted by id.
var limit = []Mutant{
	{"M113", "RLP-014", "the plugin calls its storage without the token", []string{"RLP-002", "RLP-003", "RLP-005", "RLP-006", "RLP-007", "RLP-008", "RLP-010", "RLP-011", "RLP-012"}, storage(func(r *http.Request) { r.Header.Del("Authorization") })},
	{"M360", "RLP-001", "a configuration without a window is accepted", nil, plugin(func(c map[string]any) { given(limiter(c), "window", "1h") })},
	{"M361", "RLP-001", "a configuration without an identifier is accepted", nil, plugin(func(c map[string]any) { given(strategy(c), "identifierSource", "ip") })},
	{"M362", "RLP-008", "an unknown unit is read as weeks", nil, plugin(func(c map[string]any) {
		if w, _ := limiter(c)["window"].(string); strings.HasSuffix(w, "w") {
			limiter(c)["window"] = "168h"
		}
	})},
	{"M92a", "RLP-010", "one token too many", []string{"RLP-002", "RLP-003", "RLP-005", "RLP-006", "RLP-008", "RLP-011", "RLP-012"}, plugin(func(c map[string]any) {
		if n, ok := limiter(c)["tokens"].(float64); ok {
			limiter(c)["tokens"] = n + 1
		}
	})},
	{"M92b", "RLP-010", "a fixed window never begins anew", nil, plugin(func(c map[string]any) {
		if limiter(c)["algorithm"] == "fixed-window" && strings.HasSuffix(text(limiter(c)["window"]), "ms") {
			limiter(c)["window"] = "1h"
		}
	})},
	{"M92c", "RLP-011", "a sliding window is built as a fixed one", nil, plugin(func(c map[string]any) {
		if limiter(c)["algorithm"] == "sliding-window" {
			limiter(c)["algorithm"] = "fixed-window"
		}
	})},
	{"M92d", "RLP-012", "a bucket is refilled to the brim", nil, plugin(func(c map[string]any) {
		if limiter(c)["algorithm"] == "token-bucket" {
			limiter(c)["refillRate"] = limiter(c)["tokens"]
		}
	})},
	{"M92e", "RLP-007", "the identifier is ignored", []string{"RLP-004", "RLP-006"}, plugin(func(c map[string]any) {
		if strategy(c)["identifierSource"] != nil {
			strategy(c)["identifierSource"] = "header.Accept-Encoding"
		}
	})},
	{"M92f", "RLP-005", "a route parameter is counted for each value", nil, func(hit func()) Parts {
		return Parts{Host: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				hit()
				if strings.HasPrefix(r.URL.Path, "/api/orders/") {
					r.Header.Set("X-User", r.Header.Get("X-User")+r.URL.Path)
				}
				next.ServeHTTP(w, r)
			})
		}}
	}},
	{"M92g", "RLP-003", "a method that is not listed is limited", []string{"RLP-004"}, plugin(func(c map[string]any) {
		if strategy(c)["methods"] != nil {
			strategy(c)["methods"] = []any{"ALL"}
		}
	})},
	{"M92h", "RLP-008", "a window in minutes is read as milliseconds", nil, plugin(func(c map[string]any) {
		if w := text(limiter(c)["window"]); strings.HasSuffix(w, "m") && len(w) > 1 {
			limiter(c)["window"] = w + "s"
		}
	})},
	{"M92i", "RLP-002", "a plugin that is switched off still limits", nil, plugin(func(c map[string]any) { delete(c, "enabled") })},
	{"M92j", "RLP-004", "the key lacks the method", nil, storage(func(r *http.Request) {
		setBody(r, []byte(strings.ReplaceAll(string(body(r)), ":GET:", ":")))
	})},
	{"M92k", "RLP-013", "a denied request reaches the application all the same", []string{"RLP-002", "RLP-003", "RLP-005", "RLP-006", "RLP-008", "RLP-010", "RLP-011", "RLP-012"}, func(hit func()) Parts {
		return Parts{App: func(limited, app http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := call(limited, r.Clone(r.Context()))
				if a.status >= 300 {
					hit()
					call(app, r.Clone(r.Context()))
				}
				a.write(w)
			})
		}}
	}},
	{"M92l", "RLP-006", "the address takes the place of the header", []string{"RLP-004", "RLP-007"}, plugin(func(c map[string]any) {
		if strategy(c)["identifierSource"] != nil {
			strategy(c)["identifierSource"] = "ip"
		}
	})},
	{"M92m", "RLP-009", "tokenBucket is accepted", nil, plugin(func(c map[string]any) {
		if limiter(c)["algorithm"] == "tokenBucket" {
			limiter(c)["algorithm"] = "token-bucket"
		}
	})},
}

func text(v any) string {
	t, _ := v.(string)
	return t
}
