package ratelimit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/brianvoe/gofakeit/v6"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
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
	expect.NoError(t, err)
	expect.Equal(t, "prefix", c.Prefix, "@app")
	if expect.Equal(t, "number of limiters", len(c.Strategy), 2) {
		expect.Equal(t, "refill rate of the first limiter", c.Strategy[0].Limiter.RefillRate, 5)
		expect.Equal(t, "tokens of the second limiter", c.Strategy[1].Limiter.Tokens, 100)
	}
	if _, err := ratelimit.New(c); err != nil {
		t.Error(err)
	}
}

// change is the configuration whole with another value at a path of keys; without a
// value, the key is removed.
func change(t *testing.T, path string, value ...any) []byte {
	t.Helper()
	var document any
	expect.NoError(t, json.Unmarshal([]byte(whole), &document))
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
	expect.NoError(t, err)
	return text
}

func TestAKeyThatIsGivenTwiceIsRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, from, to, want string }{
		{"at the top", `{`, `{"token":"other",`, "token: given twice: must be given once"},
		{"in a strategy", `"path"`, `"path":"*","path"`, "strategy[0].path: given twice: must be given once"},
		{"in a limiter, also with the same value", `"tokens"`, `"tokens":1,"tokens"`, "strategy[0].limiter.tokens: given twice: must be given once"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := ratelimit.Parse([]byte(strings.Replace(whole, row.from, row.to, 1)))
			if err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

var breaches = []struct {
	path  string
	value []any // none: the key is missing
	want  string
}{
	{"token", nil, "token: missing: must be the token of the key-value store, a non-empty string"},
	{"url", nil, "url: missing: must be the http(s) URL of a key-value REST interface"},
	{"strategy", nil, "strategy: missing: must be an array of one or more strategies, each with identifierSource, limiter, methods and path"},
	{"strategy.0.methods", nil, "strategy[0].methods: missing: must be an array of GET, POST, DELETE, PUT, PATCH, ALL"},
	{"strategy.0.path", nil, "strategy[0].path: missing: must be * for all routes, or a path that starts with /, with any * and :name"},
	{"strategy.0.identifierSource", nil, "strategy[0].identifierSource: missing: must be ip, or header.NAME"},
	{"strategy.0.limiter", nil, "strategy[0].limiter: missing: must be an object with algorithm, tokens and window"},
	{"strategy.1.limiter.algorithm", nil, "strategy[1].limiter.algorithm: missing: must be fixed-window, sliding-window or token-bucket"},
	{"strategy.1.limiter.tokens", nil, "strategy[1].limiter.tokens: missing: must be an integer from 1 to 9007199254740991"},
	{"strategy.1.limiter.window", nil, "strategy[1].limiter.window: missing: must be a number of 1 or more followed by ms, s, m, h or d, such as 10s, up to 36500d"},
	{"enabled", []any{"yes"}, `enabled: invalid value "yes": must be true or false`},
	{"analytics", []any{1}, `analytics: invalid value 1: must be true or false`},
	{"token", []any{""}, `token: invalid value "": must be the token of the key-value store, a non-empty string`},
	{"token", []any{7}, `token: invalid value 7: must be the token of the key-value store, a non-empty string`},
	{"url", []any{"redis://h"}, `url: invalid value "redis://h": must be the http(s) URL of a key-value REST interface`},
	{"url", []any{"http://a host/"}, `url: invalid value "http://a host/": must be the http(s) URL of a key-value REST interface`},
	{"prefix", []any{nil}, `prefix: invalid value null: must be a non-empty string, with which keys start`},
	{"strategy", []any{map[string]any{}}, `strategy: invalid value {}: must be an array of one or more strategies, each with identifierSource, limiter, methods and path`},
	{"strategy", []any{[]any{}}, `strategy: invalid value []: must be an array of one or more strategies, each with identifierSource, limiter, methods and path`},
	{"strategy.0", []any{"x"}, `strategy[0]: invalid value "x": must be an object with identifierSource, limiter, methods and path`},
	{"strategy.0.methods", []any{"GET"}, `strategy[0].methods: invalid value "GET": must be an array of GET, POST, DELETE, PUT, PATCH, ALL`},
	{"strategy.0.methods", []any{[]any{}}, `strategy[0].methods: invalid value []: must be an array of GET, POST, DELETE, PUT, PATCH, ALL`},
	{"strategy.0.methods.1", []any{"get"}, `strategy[0].methods[1]: invalid value "get": did you mean "GET"?: must be GET, POST, DELETE, PUT, PATCH or ALL`},
	{"strategy.0.methods.1", []any{"OPTIONS"}, `strategy[0].methods[1]: invalid value "OPTIONS": must be GET, POST, DELETE, PUT, PATCH or ALL`},
	{"strategy.0.methods.1", []any{"GET"}, `strategy[0].methods[1]: invalid value "GET": given twice: must be given once`},
	{"strategy.0.path", []any{"api"}, `strategy[0].path: invalid value "api": must be * for all routes, or a path that starts with /, with any * and :name`},
	{"strategy.0.path", []any{"/a/:/b"}, `strategy[0].path: invalid value "/a/:/b": must be * for all routes, or a path that starts with /, with any * and :name`},
	{"strategy.0.path", []any{"/a/:b?"}, `strategy[0].path: invalid value "/a/:b?": must be * for all routes, or a path that starts with /, with any * and :name`},
	{"strategy.0.identifierSource", []any{"cookie"}, `strategy[0].identifierSource: invalid value "cookie": must be ip, or header.NAME`},
	{"strategy.0.identifierSource", []any{"header."}, `strategy[0].identifierSource: invalid value "header.": must be ip, or header.NAME`},
	{"strategy.0.debug", []any{3}, `strategy[0].debug: invalid value 3: must be a string such as "true"`},
	{"strategy.0.limiter.algorithm", []any{"tokenBucket"}, `strategy[0].limiter.algorithm: invalid value "tokenBucket": did you mean "token-bucket"?: must be fixed-window, sliding-window or token-bucket`},
	{"strategy.0.limiter.algorithm", []any{"leaky"}, `strategy[0].limiter.algorithm: invalid value "leaky": must be fixed-window, sliding-window or token-bucket`},
	{"strategy.0.limiter.tokens", []any{0}, `strategy[0].limiter.tokens: invalid value 0: must be an integer from 1 to 9007199254740991`},
	{"strategy.0.limiter.tokens", []any{json.Number("1e30")}, `strategy[0].limiter.tokens: invalid value 1e30: must be an integer from 1 to 9007199254740991`},
	{"strategy.0.limiter.tokens", []any{1.5}, `strategy[0].limiter.tokens: invalid value 1.5: must be an integer from 1 to 9007199254740991`},
	{"strategy.0.limiter.tokens", []any{"10"}, `strategy[0].limiter.tokens: invalid value "10": must be an integer from 1 to 9007199254740991`},
	{"strategy.0.limiter.window", []any{"10w"}, `strategy[0].limiter.window: invalid value "10w": must be a number of 1 or more followed by ms, s, m, h or d, such as 10s, up to 36500d`},
	{"strategy.0.limiter.window", []any{"40000d"}, `strategy[0].limiter.window: invalid value "40000d": must be a number of 1 or more followed by ms, s, m, h or d, such as 10s, up to 36500d`},
	{"strategy.0.limiter.window", []any{10}, `strategy[0].limiter.window: invalid value 10: must be a number of 1 or more followed by ms, s, m, h or d, such as 10s, up to 36500d`},
	{"strategy.0.limiter.refillRate", []any{0}, `strategy[0].limiter.refillRate: invalid value 0: must be an integer from 1 to 9007199254740991`},
	{"strategy.0.limiter.burst", []any{2}, `strategy[0].limiter.burst: unknown key: must be one of algorithm, refillRate, tokens, window`},
	{"tokens", []any{2}, `tokens: unknown key: must be one of analytics, enabled, prefix, strategy, token, url`},
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
		`strategy[0].limiter.algorithm: invalid value "tokenBucket": did you mean "token-bucket"?: must be fixed-window, sliding-window or token-bucket`,
		`strategy[0].limiter.tokens: invalid value 0: must be an integer from 1 to 9007199254740991`,
		`strategy[0].limiter.window: invalid value "10w": must be a number of 1 or more followed by ms, s, m, h or d, such as 10s, up to 36500d`,
		`strategy[1]: limits GET /A/:name/ by ip as strategy[0] does: must be the only strategy for its methods, path and identifierSource`,
		`strategy[1].limiter: missing: must be an object with algorithm, tokens and window`,
		`token: missing: must be the token of the key-value store, a non-empty string`,
		`url: invalid value "ftp://x": must be the http(s) URL of a key-value REST interface`,
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
		"":                         "rate-limit configuration: empty: must be one JSON object",
		"{\n\"url\": 'x'}":         "line 2",
		"{} {}":                    "unexpected text after the object",
		"[]":                       "configuration: invalid value []: must be an object",
		"null":                     "configuration: invalid value null: must be an object",
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
		expect.Contains(t, "error", err.Error(), `strategy[0].limiter.window: invalid value ""`)
		expect.Contains(t, "error", err.Error(), `token: invalid value ""`)
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
	f := gofakeit.New(7)
	for range 50 {
		algorithm := f.RandomString([]string{"fixed-window", "sliding-window", "token-bucket"})
		limiter := map[string]any{"algorithm": algorithm, "tokens": f.Number(1, 1000), "window": fmt.Sprint(f.Number(1, 60), f.RandomString([]string{"ms", "s", "m", "h", "d"}))}
		if algorithm == "token-bucket" {
			limiter["refillRate"] = f.Number(1, 100)
		}
		text, err := json.Marshal(map[string]any{
			"enabled": true, "token": f.LetterN(24), "url": "http://127.0.0.1:8080/kv", "prefix": "@" + f.LetterN(8), "analytics": f.Bool(),
			"strategy": []any{map[string]any{
				"methods": []string{f.RandomString([]string{"GET", "POST", "DELETE", "PUT", "PATCH", "ALL"})}, "path": "/" + f.LetterN(8) + "/:id",
				"identifierSource": f.RandomString([]string{"ip", "header.X-User", "header.Authorization"}), "limiter": limiter,
			}},
		})
		if err == nil {
			_, err = ratelimit.Parse(text)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
