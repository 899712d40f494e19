package main

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// strategyOf returns the first strategy of a plugin configuration.
func strategyOf(c map[string]any) map[string]any {
	list, _ := c["strategy"].([]any)
	if len(list) == 0 {
		return map[string]any{}
	}
	s, _ := list[0].(map[string]any)
	return s
}

func limiterOf(c map[string]any) map[string]any {
	l, _ := strategyOf(c)["limiter"].(map[string]any)
	if l == nil {
		l = map[string]any{}
	}
	return l
}

// changePlugin changes the configuration before the plugin parses it.
func changePlugin(change func(c map[string]any)) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return mutantParts{Plugin: func(c map[string]any) {
			before := string(encodeJSON(c))
			change(c)
			if string(encodeJSON(c)) != before {
				hit()
			}
		}}
	}
}

// changeStrategies changes a configuration as if it had each of its strategies alone.
func changeStrategies(change func(c map[string]any)) func(func()) mutantParts {
	return changePlugin(func(c map[string]any) {
		list, _ := c["strategy"].([]any)
		for i := range list {
			c["strategy"] = list[i : i+1]
			change(c)
		}
		if list != nil {
			c["strategy"] = list
		}
	})
}

// changeStorage changes what the plugin sends to its storage.
func changeStorage(change func(r *http.Request)) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return mutantParts{Storage: func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				return comparedTrip(r, next, hit, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
					change(r)
					return next.RoundTrip(r)
				})
			})
		}}
	}
}

// setDefault sets a value if the key has none.
func setDefault(object map[string]any, key string, v any) {
	if object[key] == nil {
		object[key] = v
	}
}

// limitMutants break the rate-limit plugin. Sorted by id.
var limitMutants = []mutant{
	{ID: "RLP-001.1", Text: "a configuration without a window is accepted", Build: changeStrategies(func(c map[string]any) { setDefault(limiterOf(c), "window", "1h") })},
	{ID: "RLP-001.2", Text: "a configuration without an identifier is accepted", Build: changeStrategies(func(c map[string]any) { setDefault(strategyOf(c), "identifierSource", "ip") })},
	{ID: "RLP-001.3", Text: "a configuration without a token is accepted", Build: changePlugin(func(c map[string]any) { setDefault(c, "token", "none") })},
	{ID: "RLP-002.1", Text: "a plugin that is switched off still limits", Build: changePlugin(func(c map[string]any) { delete(c, "enabled") })},
	{ID: "RLP-002.2", Text: "the plugin is switched off unless enabled is true", Build: changePlugin(func(c map[string]any) { setDefault(c, "enabled", false) })},
	{ID: "RLP-002.3", Text: "enabled: true is taken for false", Build: changePlugin(func(c map[string]any) {
		if c["enabled"] == true {
			c["enabled"] = false
		}
	})},
	{ID: "RLP-003.1", Text: "a method that is not listed is limited", Build: changeStrategies(func(c map[string]any) {
		if strategyOf(c)["methods"] != nil {
			strategyOf(c)["methods"] = []any{"ALL"}
		}
	})},
	{ID: "RLP-003.2", Text: "ALL covers GET only", Build: changeStrategies(func(c map[string]any) {
		if list, _ := strategyOf(c)["methods"].([]any); slices.Contains(list, any("ALL")) {
			strategyOf(c)["methods"] = []any{"GET"}
		}
	})},
	{ID: "RLP-003.3", Text: "of the listed methods the first is limited", Build: changeStrategies(func(c map[string]any) {
		if list, _ := strategyOf(c)["methods"].([]any); len(list) > 1 {
			strategyOf(c)["methods"] = list[:1]
		}
	})},
	{ID: "RLP-004.1", Text: "the key lacks the method", Build: changeStorage(func(r *http.Request) {
		setBody(r, []byte(strings.ReplaceAll(string(readBody(r)), ":GET:", ":")))
	})},
	{ID: "RLP-004.2", Text: "the key lacks the prefix", Build: changeStorage(func(r *http.Request) { setBody(r, prefixOfKey.ReplaceAll(readBody(r), []byte("$1"))) })},
	{ID: "RLP-004.3", Text: "the key has the identifier before the route", Build: changeStorage(func(r *http.Request) {
		setBody(r, []byte(strings.ReplaceAll(string(readBody(r)), "/api/orders/:id:ann", "ann:/api/orders/:id")))
	})},
	{ID: "RLP-005.1", Text: "a route parameter is counted for each value", Build: func(hit func()) mutantParts {
		return mutantParts{Host: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/orders/") {
					hit()
					r.Header.Set("X-User", r.Header.Get("X-User")+r.URL.Path)
				}
				next.ServeHTTP(w, r)
			})
		}}
	}},
	{ID: "RLP-005.2", Text: "* matches the root only", Build: changeStrategies(func(c map[string]any) {
		if strategyOf(c)["path"] == "*" {
			strategyOf(c)["path"] = "/"
		}
	})},
	{ID: "RLP-005.3", Text: "a route parameter is a text like any other", Build: changeStrategies(func(c map[string]any) {
		if p := textOf(strategyOf(c)["path"]); strings.Contains(p, ":") {
			strategyOf(c)["path"] = strings.ReplaceAll(p, ":", "%3A")
		}
	})},
	{ID: "RLP-006.1", Text: "the address takes the place of the header", Build: changeStrategies(func(c map[string]any) {
		if strategyOf(c)["identifierSource"] != nil {
			strategyOf(c)["identifierSource"] = "ip"
		}
	})},
	{ID: "RLP-006.2", Text: "the header of the identifier is always X-User", Build: changeStrategies(func(c map[string]any) {
		if strings.HasPrefix(textOf(strategyOf(c)["identifierSource"]), "header.") {
			strategyOf(c)["identifierSource"] = "header.X-User"
		}
	})},
	{ID: "RLP-006.3", Text: "a header takes the place of the address", Build: changeStrategies(func(c map[string]any) {
		if strategyOf(c)["identifierSource"] == "ip" {
			strategyOf(c)["identifierSource"] = "header.X-User"
		}
	})},
	{ID: "RLP-007.1", Text: "the identifier is ignored", Build: changeStrategies(func(c map[string]any) {
		if strategyOf(c)["identifierSource"] != nil {
			strategyOf(c)["identifierSource"] = "header.Accept-Encoding"
		}
	})},
	{ID: "RLP-007.2", Text: "identifiers are the same when their first letters are", Build: changeUser(func(name string) string { return name[:min(1, len(name))] })},
	{ID: "RLP-007.3", Text: "identifiers are the same without regard to case", Build: changeUser(strings.ToLower)},
	{ID: "RLP-008.1", Text: "an unknown unit is read as weeks", Build: changeStrategies(func(c map[string]any) {
		if w, _ := limiterOf(c)["window"].(string); strings.HasSuffix(w, "w") {
			limiterOf(c)["window"] = "168h"
		}
	})},
	{ID: "RLP-008.2", Text: "a window in minutes is read as milliseconds", Build: changeStrategies(func(c map[string]any) {
		if w := textOf(limiterOf(c)["window"]); strings.HasSuffix(w, "m") && len(w) > 1 {
			limiterOf(c)["window"] = w + "s"
		}
	})},
	{ID: "RLP-008.3", Text: "days are refused", Build: changeStrategies(func(c map[string]any) {
		if strings.HasSuffix(textOf(limiterOf(c)["window"]), "d") {
			limiterOf(c)["window"] = "day"
		}
	})},
	{ID: "RLP-009.1", Text: "tokenBucket is accepted", Build: changeStrategies(func(c map[string]any) {
		if limiterOf(c)["algorithm"] == "tokenBucket" {
			limiterOf(c)["algorithm"] = "token-bucket"
		}
	})},
	{ID: "RLP-009.2", Text: "tokenBucket is read as a fixed window", Build: changeStrategies(func(c map[string]any) {
		if limiterOf(c)["algorithm"] == "tokenBucket" {
			limiterOf(c)["algorithm"] = "fixed-window"
		}
	})},
	{ID: "RLP-009.3", Text: "tokenBucket switches the plugin off", Build: changeStrategies(func(c map[string]any) {
		if limiterOf(c)["algorithm"] == "tokenBucket" {
			limiterOf(c)["algorithm"] = "fixed-window"
			c["enabled"] = false
		}
	})},
	{ID: "RLP-010.1", Text: "one token too many", Build: changeStrategies(func(c map[string]any) {
		if n, ok := limiterOf(c)["tokens"].(float64); ok {
			limiterOf(c)["tokens"] = n + 1
		}
	})},
	{ID: "RLP-010.2", Text: "a fixed window never starts again", Build: changeStrategies(func(c map[string]any) {
		if limiterOf(c)["algorithm"] == "fixed-window" && strings.HasSuffix(textOf(limiterOf(c)["window"]), "ms") {
			limiterOf(c)["window"] = "365d"
		}
	})},
	{ID: "RLP-010.3", Text: "one token too few in a fixed window", Build: changeStrategies(func(c map[string]any) {
		if n, ok := limiterOf(c)["tokens"].(float64); ok && n > 1 && limiterOf(c)["algorithm"] == "fixed-window" {
			limiterOf(c)["tokens"] = n - 1
		}
	})},
	{ID: "RLP-011.1", Text: "a sliding window is built as a fixed one", Build: changeStrategies(func(c map[string]any) {
		if limiterOf(c)["algorithm"] == "sliding-window" {
			limiterOf(c)["algorithm"] = "fixed-window"
		}
	})},
	{ID: "RLP-011.2", Text: "one token too many in a sliding window", Build: changeStrategies(func(c map[string]any) {
		if n, ok := limiterOf(c)["tokens"].(float64); ok && limiterOf(c)["algorithm"] == "sliding-window" {
			limiterOf(c)["tokens"] = n + 1
		}
	})},
	{ID: "RLP-011.3", Text: "a sliding window never frees its tokens", Build: changeStrategies(func(c map[string]any) {
		if limiterOf(c)["algorithm"] == "sliding-window" && strings.HasSuffix(textOf(limiterOf(c)["window"]), "ms") {
			limiterOf(c)["window"] = "365d"
		}
	})},
	{ID: "RLP-012.1", Text: "a bucket is refilled to the brim", Build: changeStrategies(func(c map[string]any) {
		if limiterOf(c)["algorithm"] == "token-bucket" {
			limiterOf(c)["refillRate"] = limiterOf(c)["tokens"]
		}
	})},
	{ID: "RLP-012.2", Text: "a bucket is never refilled", Build: changeStrategies(func(c map[string]any) {
		if limiterOf(c)["algorithm"] == "token-bucket" && strings.HasSuffix(textOf(limiterOf(c)["window"]), "ms") {
			limiterOf(c)["window"] = "365d"
		}
	})},
	{ID: "RLP-012.3", Text: "one token too many in a bucket", Build: changeStrategies(func(c map[string]any) {
		if n, ok := limiterOf(c)["tokens"].(float64); ok && limiterOf(c)["algorithm"] == "token-bucket" {
			limiterOf(c)["tokens"] = n + 1
		}
	})},
	{ID: "RLP-013.1", Text: "a denied request reaches the application all the same", Build: func(hit func()) mutantParts {
		return mutantParts{App: func(limited, app http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := serverAnswer(limited, r.Clone(r.Context()))
				if a.status >= 300 {
					hit()
					serverAnswer(app, r.Clone(r.Context()))
				}
				a.write(w)
			})
		}}
	}},
	{ID: "RLP-014.1", Text: "the plugin calls its storage without the token", Build: changeStorage(func(r *http.Request) { r.Header.Del("Authorization") })},
	{ID: "RLP-014.2", Text: "the plugin calls its storage with another token", Build: changeStorage(func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")+"x") })},
	{ID: "RLP-014.3", Text: "the plugin signs in by HTTP Basic", Build: changeStorage(func(r *http.Request) { r.Header.Set("Authorization", "Basic eDp5") })},
}

func textOf(v any) string {
	t, _ := v.(string)
	return t
}

// prefixOfKey matches the prefix of a counter's key, before the method.
var prefixOfKey = regexp.MustCompile(`[A-Za-z0-9]+:((?:GET|POST|PUT|PATCH|DELETE):)`)

// changeUser changes the identifier of a client.
func changeUser(change func(name string) string) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return mutantParts{Host: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if old := r.Header.Get("X-User"); old != "" && change(old) != old {
					hit()
					r.Header.Set("X-User", change(old))
				}
				next.ServeHTTP(w, r)
			})
		}}
	}
}
