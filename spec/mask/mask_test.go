package mask_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec/mask"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/v2/queues":                                                                 "/v2/queues",
		"/v2/publish/https://e.test/?a=b&c=d#e":                                      "/v2/publish/https://e.test/?a=b&c=d#e",
		"/kv/get/x?_token=s3":                                                        "/kv/get/x?_token=***",
		"/v2/publish/a?svc_token=s3&x=1":                                             "/v2/publish/a?svc_token=***&x=1",
		"/v2/publish/a?svc%5Ftoken=s3&x=1":                                           "/v2/publish/a?svc%5Ftoken=***&x=1",
		"/v2/publish/a?x=1&SVC%5fTOKEN=s%263":                                        "/v2/publish/a?x=1&SVC%5fTOKEN=***",
		"/v2/publish/a?%73vc_token%3Ds3":                                             "/v2/publish/a?%73vc_token%3D***",
		"/v2/publish/a?brand_token=s3;x":                                             "/v2/publish/a?brand_token=***",
		"https://u:s3@e.test:8080/a?b=c":                                             "https://***@e.test:8080/a?b=c",
		"https://s3@e.test/":                                                         "https://***@e.test/",
		"https://u:s%403@e.test/a@b":                                                 "https://***@e.test/a@b",
		"https://u:s@3@e.test/":                                                      "https://***@e.test/",
		"/v2/publish/https://u:s3@e.test/?access_token=s3&x=1":                       "/v2/publish/https://***@e.test/?access_token=***&x=1",
		"/v2/publish/https:/u:s3@e.test/":                                            "/v2/publish/https:/***@e.test/",
		"/v2/publish/https%3A%2F%2Fu%3As3%40e.test%2F%3Fapi_key%3Ds3%26x%3D1":        "/v2/publish/https%3A%2F%2F***%40e.test%2F%3Fapi_key%3D***%26x%3D1",
		"/v2/publish/https%253A%252F%252Fu%253As3%2540e.test%252F%253FapiKey%253Ds3": "/v2/publish/https%253A%252F%252F***%2540e.test%252F%253FapiKey%253D***",
		"https://e.test/?next=https%3A%2F%2Fu%3As3%40f.test%2F&x=1":                  "https://e.test/?next=https%3A%2F%2F***%40f.test%2F&x=1",
		"https://e.test/#access_token=s3&state=1":                                    "https://e.test/#access_token=***&state=1",
		"/v2/publish/e?svc-forward-authorization=Bearer%20s3":                        "/v2/publish/e?svc-forward-authorization=***",
		"https://e.test/?_token=s 3":                                                 "https://e.test/?_token=***",
		"https://e.test/?_token=&x=1":                                                "https://e.test/?_token=&x=1",
		"https://e.test/?tokens=1&flowControlKey=k&broken=%zz":                       "https://e.test/?tokens=1&flowControlKey=k&broken=%zz",
		"https://e.test/?token%20=s3&x=1":                                            "https://e.test/?token%20=***&x=1",
		"https://e.test/?token+=s3":                                                  "https://e.test/?token+=***",
		"https://e.test/?token =s3":                                                  "https://e.test/?token =***",
		"https://e.test/?access_token%09%0A=s3":                                      "https://e.test/?access_token%09%0A=***",
		"https://e.test/?token%C2%A0=s3":                                             "https://e.test/?token%C2%A0=***",
		"https://e.test/?api%20key=s3":                                               "https://e.test/?api%20key=***",
		"https://e.test/?api+key=s3":                                                 "https://e.test/?api+key=***",
		"/v2/publish/https%3A%2F%2Fe.test%2F%3Ftoken%20%3Ds3":                        "/v2/publish/https%3A%2F%2Fe.test%2F%3Ftoken%20%3D***",
		"/v2/publish/https%3A%2F%2Fe.test%2F%3Ftoken%2520%3Ds3%26x%3D1":              "/v2/publish/https%3A%2F%2Fe.test%2F%3Ftoken%2520%3D***%26x%3D1",
		"https://e.test/?key=s3&x=1":                                                 "https://e.test/?key=***&x=1",
		"https://e.test/?x=1&KEY%20=s3":                                              "https://e.test/?x=1&KEY%20=***",
		"/v2/publish/https%3A%2F%2Fe.test%2F%3Fkey%3Ds3":                             "/v2/publish/https%3A%2F%2Fe.test%2F%3Fkey%3D***",
		"https://e.test/?flowkey=1&key2=2&monkey=3":                                  "https://e.test/?flowkey=1&key2=2&monkey=3",
		"https://e.test/?%zz_token=s3":                                               "https://e.test/?%zz_token=***",
	} {
		if got := mask.URL(in); got != want {
			t.Errorf("URL(%s)\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Authorization", "AUTHORIZATION", "proxy-authorization", "Cookie", "Set-Cookie", "X-Api-Key", "x_api_key", "apiKey", "APIKEY", "Svc-Forward-Authorization", "svc-callback-forward-cookie",
		"Brand-Forward-X-API-KEY", "X-Auth-Token", "accessToken", "client_secret", "password", "_token", "X-Amz-Security-Token", "headers[Authorization]", " Authorization ",
		"X-Auth", "auth", "X-Auth-Key", "pass", "pwd", "Passphrase", "jwt", "sig", "X-Amz-Signature", "X-Goog-Signature", "X-Secret-Id", "Xauthtoken", "token[]", "JSESSIONID", "X-Session", "X-Csrf", "token "} {
		if !mask.Secret(name) {
			t.Errorf("%s: shown", name)
		}
	}
	for _, name := range []string{"", "Content-Type", "Svc-Flow-Control-Key", "flowControlKey", "tokens", "Svc-Retries", "Idempotency-Key", "key", "Cookie-Policy", "broken", "bypass", "Svc-Signature", "X-Hub-Signature", "design", "compass"} {
		if mask.Secret(name) {
			t.Errorf("%s: hidden", name)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	h := http.Header{"Authorization": {"Bearer s3"}, "Svc-Forward-Cookie": {"a=s3", "b=s3"}, "Svc-Callback": {"https://u:s3@e.test/"}, "X-Api-Key": {"s3"}, "X-Own": {"Basic s3", "one"}}
	shown := mask.Header(h)
	want := http.Header{"Authorization": {"Bearer ***"}, "Svc-Forward-Cookie": {"***", "***"}, "Svc-Callback": {"https://***@e.test/"}, "X-Api-Key": {"***"}, "X-Own": {"Basic ***", "one"}}
	for name := range want {
		if got := strings.Join(shown[name], ", "); got != strings.Join(want[name], ", ") {
			t.Errorf("%s: got %s, want %s", name, got, want[name])
		}
	}
	if h.Get("Authorization") != "Bearer s3" {
		t.Error("the header itself was changed")
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	token := func(subject string) string {
		return "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+subject+`"}`)) + "."
	}
	if got, want := mask.Value(token("https://u:s3@e.test/")+"c2ln"), token("https://***@e.test/")+"***"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := mask.Value(token("https://e.test/")+"c2ln"), token("https://e.test/")+"c2ln"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`[ {"destination": "https://u:s3@e.test/?x=1&_token=s3", "headers": {"svc-forward-AUTHORIZATION":"Bearer s3", "X-Api-Key": ["s3",7,null], "N": 1.50}} ]`: `[ {"destination": "https://***@e.test/?x=1&_token=***", "headers": {"svc-forward-AUTHORIZATION":"Bearer ***", "X-Api-Key": ["***","***",null], "N": 1.50}} ]`,
		`{"a":"\u0041","body":"{\"callHeaders\":{\"Cookie\":\"s3\"}}"}`:                                                                                          `{"a":"\u0041","body":"{\"callHeaders\":{\"Cookie\":\"***\"}}"}`,
		`{"\u0043ookie":{"deep":["s3"]}}`:                                                                            `{"\u0043ookie":{"deep":["***"]}}`,
		`{"current":"sig_0123456789"}`:                                                                               `{"current":"***"}`,
		`{"error":"header X-Api-Key: invalid value \"s3\": too short"}`:                                              `{"error":"header X-Api-Key: invalid value \"***\": too short"}`,
		`[{"destination":"https://u:s3@e.test/","headers":{"Cookie":"s3"`:                                            `[{"destination":"https://***@e.test/","headers":{"Cookie":"***"`,
		`{"error":"header X-Api-Key \"s3\": too short"}`:                                                             `{"error":"header X-Api-Key \"***\": too short"}`,
		`{"error":"unknown key \"token\"; did you mean \"tokens\"?"}`:                                                `{"error":"unknown key \"token\"; did you mean \"tokens\"?"}`,
		`{"error":"it takes Authorization: Bearer with a token, or Basic base64(USERNAME:PASSWORD); not Bearer s3"}`: `{"error":"it takes Authorization: Bearer with a token, or Basic base64(USERNAME:PASSWORD); not Bearer ***"}`,
		`7`: `7`, ``: ``, `{}`: `{}`, `[]`: `[]`, `"https://s3@e.test"`: `"https://***@e.test"`,
	} {
		if got := string(mask.JSON([]byte(in))); got != want {
			t.Errorf("JSON(%s)\n got %s\nwant %s", in, got, want)
		}
		if !json.Valid([]byte(in)) || !strings.HasPrefix(in, "{") && !strings.HasPrefix(in, "[") {
			continue
		}
		in, want = base64.StdEncoding.EncodeToString([]byte(in)), base64.StdEncoding.EncodeToString([]byte(want))
		if got := string(mask.JSON([]byte(`{"body":"` + in + `"}`))); got != `{"body":"`+want+`"}` {
			t.Errorf("base64: got %s, want %s", got, want)
		}
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := slog.New(mask.Handler(slog.NewTextHandler(&b, nil))).With("token", "s3", "url", "https://u:s3@e.test/")
	log.WithGroup("g").Info("Get https://u:s3@e.test/?_token=s3 failed", "error", &url.Error{Op: "Get", URL: "https://e.test/?api_key=s3", Err: http.ErrServerClosed}, slog.Group("x", "cookie", "s3"), "list", []string{"Bearer s3"}, "n", 7)
	if strings.Contains(b.String(), "s3") || !strings.Contains(b.String(), "n=7") {
		t.Error(b.String())
	}
}

// spellings are ways in which a part of a URL can be escaped.
var spellings = []func(string) string{
	func(s string) string { return s },
	url.QueryEscape,
	url.PathEscape,
	func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	func(s string) string { // every character
		var b strings.Builder
		for i := range len(s) {
			b.WriteString("%" + string("0123456789abcdef"[s[i]>>4]) + string("0123456789ABCDEF"[s[i]&15]))
		}
		return b.String()
	},
}

// secretNames are spellings of names of credentials, in headers and queries.
var secretNames = []string{"Authorization", "authorization", "COOKIE", "Set-Cookie", "X-Api-Key", "x-api-key", "Proxy-Authorization", "Svc-Forward-Authorization", "svc-forward-cookie", "Brand-Forward-X-Api-Key",
	"Svc-Callback-Forward-Authorization", "_token", "svc_token", "Svc_Token", "brand_token", "access_token", "apiKey", "X-Auth-Token"}

// FuzzNothingShows puts a secret into every place where one can occur.
func FuzzNothingShows(f *testing.F) {
	for i := range 40 {
		f.Add("s3cr3tvalue", "e.test/path", i, i/3, i/5)
	}
	f.Add("p&q=r/s?t#u@v:w%25x y", "e.test", 1, 2, 3)
	f.Fuzz(func(t *testing.T, seed, other string, name, spelling, nesting int) {
		secret := "PLANTED" + strings.Map(func(c rune) rune { // what a URL may hold in its query
			if c <= ' ' || c > '~' || strings.ContainsRune(`"<>\^{|}`+"`'", c) {
				return -1
			}
			return c
		}, seed) + "PLANTED"
		pick := func(n, of int) int { return ((n % of) + of) % of }
		escape, nest, param := spellings[pick(spelling, len(spellings))], spellings[pick(nesting, len(spellings))], secretNames[pick(name, len(secretNames))]
		host := strings.Map(func(c rune) rune {
			if c < 'a' || c > 'z' {
				return -1
			}
			return c
		}, other) + ".test"
		address := "https://" + host + "/path?x=1&" + escape(param) + "=" + url.QueryEscape(secret) + "&y=2"
		user := "https://user:" + url.QueryEscape(secret) + "@" + host + "/?z=1"
		for what, shown := range map[string]string{
			"a query":          mask.URL(address),
			"a nested query":   mask.URL("/v2/publish/" + nest(address) + "?svc-retries=1"),
			"a user":           mask.URL(user),
			"a nested user":    mask.URL("/v2/publish/" + nest(user) + "?svc-retries=1"),
			"a text":           mask.Text(`Get "` + nest(address) + `": refused by ` + user),
			"a header":         value(mask.Header(http.Header{param: {secret}, "X-Own": {"Bearer " + strings.ReplaceAll(secret, ";", "")[:9]}, "Svc-Callback": {user}, "Location": {address}})),
			"a batch":          string(mask.JSON(marshal(t, []any{map[string]any{"destination": nest(address), "headers": map[string]any{param: []any{secret}, "Svc-Callback": user}}}))),
			"a batch in a doc": string(mask.JSON(marshal(t, map[string]any{"body": string(marshal(t, map[string]any{param: secret, "url": user}))}))),
		} {
			if strings.Contains(shown, "PLANTED") {
				t.Errorf("%s shows the secret: %s", what, shown)
			}
		}
	})
}

func value(h http.Header) string {
	var all []string
	for _, values := range h {
		all = append(all, values...)
	}
	return strings.Join(all, "\n")
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	expect.NoError(t, err)
	return b
}

// FuzzJSON checks that masked JSON is valid, and that masking again changes nothing.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}],"c":"\u0041","d":true}`))
	f.Add([]byte(`{"cookie":[[]],"x":"{\"token\":1}"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		shown := mask.JSON(text)
		if json.Valid(text) && !json.Valid(shown) {
			t.Errorf("invalid JSON %q, from %q", shown, text)
		}
		if again := mask.JSON(shown); json.Valid(text) && !bytes.Equal(again, shown) {
			t.Errorf("masking again changes it: %q, then %q", shown, again)
		}
	})
}

func BenchmarkExchange(b *testing.B) {
	h := http.Header{"Authorization": {"Bearer eyJVc2VySUQiOiJzdmNVc2VyIiwiUGFzc3dvcmQiOiJzdmNQYXNzd29yZCJ9"}, "Content-Type": {"application/json"}, "User-Agent": {"client/1.0"}, "Accept-Encoding": {"gzip"}, "Content-Length": {"120"}, "Svc-Retries": {"3"}, "Svc-Forward-X": {"y"}}
	for b.Loop() {
		mask.Header(h)
		mask.URL("/v2/publish/https://app.test/hook?id=1")
		mask.JSON([]byte(`{"messageId":"msg_01J0000000000000000000000"}`))
	}
}

// The excerpt of a document is the beginning of what JSON returns, and not all of a long one.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	text := []byte(`[{"url":"https://u:s3@e.test/","headers":{"Cookie":["s3","s3"]},"n":[1,2,{"a":"b"}]}, "x"] `)
	whole := mask.JSON(text)
	for most := range len(text) + 2 {
		got := mask.Excerpt(text, most)
		if !bytes.HasPrefix(whole, got) {
			t.Errorf("Excerpt of %d bytes: got %s, want the beginning of %s", most, got, whole)
		}
	}
	if got := mask.Excerpt(text, len(text)); !bytes.Equal(got, whole) {
		t.Errorf("excerpt of all: got %s, want %s", got, whole)
	}
	if got := mask.Excerpt([]byte("["+strings.Repeat(`"value",`, 1000)+`1]`), 100); len(got) < 100 || len(got) > 200 {
		t.Errorf("excerpt of a long document: got %d bytes, want 100 or a few more", len(got))
	}
}
