package ratelimit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/fixtures"
	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

// whole is a configuration with every key.
const whole = `{
  "enabled": true, "token": "t", "url": "http://127.0.0.1:8080/kv", "prefix": "@app", "analytics": true,
  "strategy": [
    {"methods": ["GET", "POST"], "path": "/api/:kind", "identifierSource": "header.X-User", "debug": "true",
     "limiter": {"algorithm": "token-bucket", "tokens": 10, "window": "20s", "refillRate": 5}},
    {"methods": ["ALL"], "path": "*", "identifierSource": "ip",
     "limiter": {"algorithm": "fixed-window", "tokens": 1e2, "window": "1 m"}}
  ]}`

func TestAConfigurationWithEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	c, err := ratelimit.Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "prefix", c.Prefix, "@app")
	if expect.Equal(t, "number of limiters", len(c.Strategy), 2) {
		expect.Equal(t, "refill rate of the first limiter", c.Strategy[0].Limiter.RefillRate, 5)
		expect.Equal(t, "tokens of the second limiter", c.Strategy[1].Limiter.Tokens, 100)
	}
	if _, err := ratelimit.New(c); err != nil {
		t.Error(err)
	}
}

// change is the whole configuration with the value under a path of keys
// replaced; without a value it is removed.
func change(t *testing.T, path string, value ...any) []byte {
	t.Helper()
	var document any
	if err := json.Unmarshal([]byte(whole), &document); err != nil {
		t.Fatal(err)
	}
	at := document
	keys := strings.Split(path, ".")
	for i, key := range keys {
		if list, ok := at.([]any); ok {
			if i == len(keys)-1 {
				list[int(key[0]-'0')] = value[0]
			} else {
				at = list[int(key[0]-'0')]
			}
			continue
		}
		object := at.(map[string]any)
		switch {
		case i < len(keys)-1:
			at = object[key]
		case len(value) == 0:
			delete(object, key)
		default:
			object[key] = value[0]
		}
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var breaches = []struct {
	path  string
	value []any // none: the key is missing
	want  string
}{
	{"token", nil, "token: missing: accepted is the token of the key-value store, not empty"},
	{"url", nil, "url: missing: accepted is the http(s) URL of a key-value REST interface"},
	{"strategy", nil, "strategy: missing: accepted is an array of strategies, each with identifierSource, limiter, methods and path"},
	{"strategy.0.methods", nil, "strategy[0].methods: missing: accepted is an array of GET, POST, DELETE, PUT, PATCH, ALL"},
	{"strategy.0.path", nil, "strategy[0].path: missing: accepted is * for all routes, or a path beginning with / that may hold * and :name"},
	{"strategy.0.identifierSource", nil, "strategy[0].identifierSource: missing: accepted is ip, or header.NAME"},
	{"strategy.0.limiter", nil, "strategy[0].limiter: missing: accepted is an object with algorithm, tokens and window"},
	{"strategy.1.limiter.algorithm", nil, "strategy[1].limiter.algorithm: missing: accepted is fixed-window, sliding-window or token-bucket"},
	{"strategy.1.limiter.tokens", nil, "strategy[1].limiter.tokens: missing: accepted is a whole number from 1 to 9007199254740991"},
	{"strategy.1.limiter.window", nil, "strategy[1].limiter.window: missing: accepted is a number from 1 up followed by ms, s, m, h or d, such as 10s, up to 36500d"},
	{"enabled", []any{"yes"}, `enabled: "yes": accepted is true or false`},
	{"analytics", []any{1}, `analytics: 1: accepted is true or false`},
	{"token", []any{""}, `token: "": accepted is the token of the key-value store, not empty`},
	{"token", []any{7}, `token: 7: accepted is the token of the key-value store, not empty`},
	{"url", []any{"redis://h"}, `url: "redis://h": accepted is the http(s) URL of a key-value REST interface`},
	{"url", []any{"http://a host/"}, `url: "http://a host/": accepted is the http(s) URL of a key-value REST interface`},
	{"prefix", []any{nil}, `prefix: null: accepted is a text that keys begin with, not empty`},
	{"strategy", []any{map[string]any{}}, `strategy: {}: accepted is an array of strategies, each with identifierSource, limiter, methods and path`},
	{"strategy.0", []any{"x"}, `strategy[0]: "x": accepted is an object with identifierSource, limiter, methods and path`},
	{"strategy.0.methods", []any{"GET"}, `strategy[0].methods: "GET": accepted is an array of GET, POST, DELETE, PUT, PATCH, ALL`},
	{"strategy.0.methods", []any{[]any{}}, `strategy[0].methods: []: accepted is an array of GET, POST, DELETE, PUT, PATCH, ALL`},
	{"strategy.0.methods.1", []any{"get"}, `strategy[0].methods[1]: "get", did you mean "GET"?: accepted is GET, POST, DELETE, PUT, PATCH or ALL`},
	{"strategy.0.methods.1", []any{"OPTIONS"}, `strategy[0].methods[1]: "OPTIONS": accepted is GET, POST, DELETE, PUT, PATCH or ALL`},
	{"strategy.0.methods.1", []any{"GET"}, `strategy[0].methods[1]: "GET", stands twice: accepted is each method once`},
	{"strategy.0.path", []any{"api"}, `strategy[0].path: "api": accepted is * for all routes, or a path beginning with / that may hold * and :name`},
	{"strategy.0.path", []any{"/a/:/b"}, `strategy[0].path: "/a/:/b": accepted is * for all routes, or a path beginning with / that may hold * and :name`},
	{"strategy.0.path", []any{"/a/:b?"}, `strategy[0].path: "/a/:b?": accepted is * for all routes, or a path beginning with / that may hold * and :name`},
	{"strategy.0.identifierSource", []any{"cookie"}, `strategy[0].identifierSource: "cookie": accepted is ip, or header.NAME`},
	{"strategy.0.identifierSource", []any{"header."}, `strategy[0].identifierSource: "header.": accepted is ip, or header.NAME`},
	{"strategy.0.debug", []any{3}, `strategy[0].debug: 3: accepted is a text such as "true"`},
	{"strategy.0.limiter.algorithm", []any{"tokenBucket"}, `strategy[0].limiter.algorithm: "tokenBucket", did you mean "token-bucket"?: accepted is fixed-window, sliding-window or token-bucket`},
	{"strategy.0.limiter.algorithm", []any{"leaky"}, `strategy[0].limiter.algorithm: "leaky": accepted is fixed-window, sliding-window or token-bucket`},
	{"strategy.0.limiter.tokens", []any{0}, `strategy[0].limiter.tokens: 0: accepted is a whole number from 1 to 9007199254740991`},
	{"strategy.0.limiter.tokens", []any{json.Number("1e30")}, `strategy[0].limiter.tokens: 1e30: accepted is a whole number from 1 to 9007199254740991`},
	{"strategy.0.limiter.tokens", []any{1.5}, `strategy[0].limiter.tokens: 1.5: accepted is a whole number from 1 to 9007199254740991`},
	{"strategy.0.limiter.tokens", []any{"10"}, `strategy[0].limiter.tokens: "10": accepted is a whole number from 1 to 9007199254740991`},
	{"strategy.0.limiter.window", []any{"10w"}, `strategy[0].limiter.window: "10w": accepted is a number from 1 up followed by ms, s, m, h or d, such as 10s, up to 36500d`},
	{"strategy.0.limiter.window", []any{"40000d"}, `strategy[0].limiter.window: "40000d": accepted is a number from 1 up followed by ms, s, m, h or d, such as 10s, up to 36500d`},
	{"strategy.0.limiter.window", []any{10}, `strategy[0].limiter.window: 10: accepted is a number from 1 up followed by ms, s, m, h or d, such as 10s, up to 36500d`},
	{"strategy.0.limiter.refillRate", []any{0}, `strategy[0].limiter.refillRate: 0: accepted is a whole number from 1 to 9007199254740991`},
	{"strategy.0.limiter.burst", []any{2}, `strategy[0].limiter.burst: 2, unknown key: accepted is one of algorithm, refillRate, tokens, window`},
	{"tokens", []any{2}, `tokens: 2, unknown key: accepted is one of analytics, enabled, prefix, strategy, token, url`},
}

func TestEveryBreachNamesKeyValueAndWhatIsAccepted(t *testing.T) {
	t.Parallel()
	for _, b := range breaches {
		_, err := ratelimit.Parse(change(t, b.path, b.value...))
		if err == nil || err.Error() != b.want {
			t.Errorf("%s = %v:\n got %v\nwant %s", b.path, b.value, err, b.want)
		}
	}
}

func TestAllBreachesComeAtOnceAndSorted(t *testing.T) {
	t.Parallel()
	text := []byte(`{"url": "ftp://x", "strategy": [
		{"methods": ["GET"], "path": "/a/:id", "identifierSource": "ip", "limiter": {"algorithm": "tokenBucket", "tokens": 0, "window": "10w"}},
		{"methods": ["POST", "GET"], "path": "/A/:name/", "identifierSource": "ip"}]}`)
	want := strings.Join([]string{
		`strategy[0].limiter.algorithm: "tokenBucket", did you mean "token-bucket"?: accepted is fixed-window, sliding-window or token-bucket`,
		`strategy[0].limiter.tokens: 0: accepted is a whole number from 1 to 9007199254740991`,
		`strategy[0].limiter.window: "10w": accepted is a number from 1 up followed by ms, s, m, h or d, such as 10s, up to 36500d`,
		`strategy[1]: limits GET /A/:name/ by ip as strategy[0] does: accepted is one strategy for a method, path and identifierSource`,
		`strategy[1].limiter: missing: accepted is an object with algorithm, tokens and window`,
		`token: missing: accepted is the token of the key-value store, not empty`,
		`url: "ftp://x": accepted is the http(s) URL of a key-value REST interface`,
	}, "\n")
	for range 10 {
		_, err := ratelimit.Parse(text)
		var invalid *ratelimit.Invalid
		if !errors.As(err, &invalid) || err.Error() != want {
			t.Fatalf("got\n%v\nwant\n%s", err, want)
		}
	}
}

func TestTextThatIsNoConfiguration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "rate-limit configuration: EOF: accepted is one JSON object",
		"{\n\"url\": 'x'}":         "line 2",
		"{} {}":                    "something follows",
		"[]":                       "(the configuration): []: accepted is an object",
		"null":                     "(the configuration): null: accepted is an object",
		strings.Repeat("[", 20000): "rate-limit configuration: ",
	} {
		if _, err := ratelimit.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %.200v, want %s", text, err, want)
		}
	}
}

func TestAConfigurationMadeInGoIsHeldToTheSameRules(t *testing.T) {
	t.Parallel()
	_, err := ratelimit.New(ratelimit.Config{URL: "http://x", Strategy: []ratelimit.Strategy{{Methods: []string{"GET"}, Path: "*", IdentifierSource: "ip"}}})
	if expect.True(t, "an error", err != nil) {
		expect.Contains(t, "error", err.Error(), `strategy[0].limiter.window: ""`)
		expect.Contains(t, "error", err.Error(), `token: ""`)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, b := range []string{"{}", `{"strategy":[{}]}`, `{"strategy":[{"methods":["GET"],"path":"/:","identifierSource":"ip","limiter":{}}]}`} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ratelimit.Parse(text)
		if err != nil {
			return
		}
		if _, err := ratelimit.New(c); err != nil {
			t.Errorf("accepted, and then refused: %v", err)
		}
	})
}

func TestGeneratedConfigurationsAreAccepted(t *testing.T) {
	t.Parallel()
	for n := range 50 {
		text, err := json.Marshal(fixtures.New(7).Plugin(n))
		if err == nil {
			_, err = ratelimit.Parse(text)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
