package spec

import (
	"bytes"
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-faster/jx"

	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/internal/yamlfile"
	"github.com/understudy-mock/understudy/spec/header"
)

// Dialect is the set of names of one brand of the interface. It is applied only at
// the edge: requests get neutral names, responses and deliveries get the brand's.
// Each direction swaps the two prefixes, so that both together restore every name,
// also a neutral one that a client of the brand forwards.
type Dialect struct {
	Name              string            `yaml:"name"`
	HeaderPrefix      string            `yaml:"headerPrefix"` // Svc-
	QueryPrefix       string            `yaml:"queryPrefix"`  // svc-
	TokenQuery        string            `yaml:"tokenQuery"`   // svc_token
	Issuer            string            `yaml:"issuer"`       // iss of signatures
	UserAgent         string            `yaml:"userAgent"`    // of deliveries
	PluginPrefix      string            `yaml:"pluginPrefix"` // default prefix of rate-limit keys
	Paths             []string          `yaml:"paths"`        // prefixes of paths that only clients of the brand call
	Fields            map[string]string `yaml:"fields"`       // neutral JSON field -> brand's
	Env               map[string]string `yaml:"env"`          // neutral name without UNDERSTUDY_ -> brand's variable; DEV makes clients look for a server on this machine, at DEV_PORT
	Token             string            `yaml:"token"`
	CurrentSigningKey string            `yaml:"currentSigningKey"`
	NextSigningKey    string            `yaml:"nextSigningKey"`
	UserID            string            `yaml:"userID"`

	names map[string]string // documented headers: neutral to brand and brand to neutral; see named
}

// named returns the dialect with the table of documented headers, so that a request
// does not compute their names.
func (d Dialect) named() *Dialect {
	if d.isNeutral() {
		return &d
	}
	d.names = make(map[string]string, 2*len(header.All))
	for _, name := range header.All {
		brand := textproto.CanonicalMIMEHeaderKey(swap(name, d.HeaderPrefix, neutral.HeaderPrefix))
		d.names[name], d.names[brand] = brand, name
	}
	return &d
}

var neutral = Dialect{
	Name:              "svc",
	HeaderPrefix:      "Svc-",
	QueryPrefix:       "svc-",
	TokenQuery:        "svc_token",
	Issuer:            "Svc",
	UserAgent:         "Svc-Messaging",
	PluginPrefix:      "@svc",
	Token:             "eyJVc2VySUQiOiJzdmNVc2VyIiwiUGFzc3dvcmQiOiJzdmNQYXNzd29yZCJ9",
	CurrentSigningKey: "sig_svc_current_development_key1",
	NextSigningKey:    "sig_svc_next_development_key_001",
	UserID:            "svcUser",
}

var upstash = Dialect{
	Name:         Published,
	HeaderPrefix: "Upstash-",
	QueryPrefix:  "upstash-",
	TokenQuery:   "qstash_token",
	Issuer:       "Upstash",
	UserAgent:    "Upstash-QStash",
	PluginPrefix: "@strapi",
	Paths:        []string{"/v2/workflows/logs", "/v2/workflows/dlq/restart/", "/v2/workflows/dlq/resume/"},
	Fields:       map[string]string{"daily_svc_messages": "daily_qstash_messages"},
	Env: map[string]string{
		"URL":                 "QSTASH_URL",
		"TOKEN":               "QSTASH_TOKEN",
		"CURRENT_SIGNING_KEY": "QSTASH_CURRENT_SIGNING_KEY",
		"NEXT_SIGNING_KEY":    "QSTASH_NEXT_SIGNING_KEY",
		"VECTOR_URL":          "UPSTASH_VECTOR_REST_URL",
		"VECTOR_TOKEN":        "UPSTASH_VECTOR_REST_TOKEN",
		"KV_URL":              "UPSTASH_REDIS_REST_URL",
		"KV_TOKEN":            "UPSTASH_REDIS_REST_TOKEN",
		"DEV":                 "QSTASH_DEV",
		"DEV_PORT":            "QSTASH_DEV_PORT",
	},
	Token:             "eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=",
	CurrentSigningKey: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
	NextSigningKey:    "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
	UserID:            "defaultUser",
}

// DevelopmentToken reports whether a token is that of a built-in dialect. These
// tokens are published.
func DevelopmentToken(token string) bool { return token == neutral.Token || token == upstash.Token }

// BuiltInDialects are svc and upstash.
func BuiltInDialects() Dialects {
	return Dialects{neutral.named(), upstash.named()}
}

// Auto selects a built-in dialect for each request; see Dialects.OfRequest. Published is the
// built-in dialect of the published clients.
const Auto, Published = "auto", "upstash"

// LoadDialect returns a dialect: svc, upstash, or the one in a YAML file with the
// keys of Dialect. Keys that the file omits have the values of svc; the default name
// is that of the file. "" and auto return svc, for callers that need one dialect.
func LoadDialect(nameOrFile string) (*Dialect, error) {
	switch nameOrFile {
	case "", Auto, neutral.Name:
		return neutral.named(), nil
	case Published:
		return upstash.named(), nil
	}
	text, err := os.ReadFile(nameOrFile)
	if err != nil {
		names := []string{Auto, neutral.Name, Published}
		return nil, fmt.Errorf("invalid value %q: must be one of %s, or a YAML file (%w)%s", nameOrFile, strings.Join(names, ", "), err, similar.DidYouMean(nameOrFile, names))
	}
	file, err := yamlfile.Parse(nameOrFile, text)
	if err != nil {
		return nil, err
	}
	if file.Root == nil {
		return nil, file.Empty()
	}
	schema, err := dialectSchema()
	if err != nil {
		return nil, err
	}
	if err := file.Check(schema); err != nil {
		return nil, err
	}
	d := neutral
	if err := file.Decode(&d); err != nil {
		return nil, err
	}
	if d.Name == neutral.Name && d.HeaderPrefix != neutral.HeaderPrefix {
		base := filepath.Base(nameOrFile)
		d.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	for _, own := range BuiltInDialects() {
		if own.Name == d.Name && !strings.EqualFold(own.HeaderPrefix, d.HeaderPrefix) || d.Name == Auto {
			return nil, file.Fault(yamlfile.Child(file.Root, "name"), "name", fmt.Sprintf("invalid value %q: must not be the name of a built-in dialect", d.Name))
		}
	}
	d.HeaderPrefix = textproto.CanonicalMIMEHeaderKey(d.HeaderPrefix + "x")[:len(d.HeaderPrefix)]
	return d.named(), nil
}

// DialectSchema is the JSON Schema (2020-12) of a dialect file. Its keyword x-accepted
// describes valid values in words.
//
//go:embed dialect.schema.json
var DialectSchema []byte

var dialectSchema = sync.OnceValues(func() (*yamlfile.Schema, error) {
	return yamlfile.NewSchema("dialect.schema.json", DialectSchema, nil)
})

// isNeutral reports whether header names need no change.
func (d *Dialect) isNeutral() bool { return d.HeaderPrefix == neutral.HeaderPrefix }

// forwarded precedes the name of a header for the destination.
const forwarded = "Forward-"

// swap exchanges the prefixes a and b at the start of a name, and at the start of a
// nested name after Forward-. Swapping twice restores the name.
func swap(name, a, b string) string {
	head, rest := "", name
	switch {
	case foldPrefix(name, a):
		head, rest = b, name[len(a):]
	case foldPrefix(name, b):
		head, rest = a, name[len(b):]
	}
	if i := foldIndex(rest, forwarded); i == 0 || i > 0 && rest[i-1] == '-' {
		i += len(forwarded)
		rest = rest[:i] + swap(rest[i:], a, b)
	}
	return head + rest
}

func foldPrefix[T string | []byte](s T, prefix string) bool {
	return len(s) >= len(prefix) && foldEqual(s[:len(prefix)], prefix)
}

func foldIndex(s, part string) int {
	for i := 0; i+len(part) <= len(s); i++ {
		if foldEqual(s[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// NeutralHeader replaces the brand's names in a header by neutral ones.
func (d *Dialect) NeutralHeader(h http.Header) http.Header {
	if d.isNeutral() {
		return h
	}
	changed := false
	for name := range h {
		if holdsPrefix(name, d.HeaderPrefix) || holdsPrefix(name, neutral.HeaderPrefix) {
			changed = true
			break
		}
	}
	if !changed {
		return h
	}
	out := make(http.Header, len(h))
	for name, values := range h {
		if other, known := d.names[name]; known {
			name = other
		} else {
			name = textproto.CanonicalMIMEHeaderKey(swap(name, d.HeaderPrefix, neutral.HeaderPrefix))
		}
		if earlier := out[name]; earlier != nil {
			values = slices.Concat(earlier, values)
		}
		out[name] = values
	}
	return out
}

// BrandHeader replaces neutral names in a header by the brand's.
func (d *Dialect) BrandHeader(h http.Header) http.Header { return d.NeutralHeader(h) }

// SigningKey returns the development key of the dialect for a neutral one, and any
// other key unchanged.
func (d *Dialect) SigningKey(key string) string {
	switch key {
	case neutral.CurrentSigningKey:
		return d.CurrentSigningKey
	case neutral.NextSigningKey:
		return d.NextSigningKey
	}
	return key
}

// NeutralQuery replaces the brand's names in a raw query by neutral ones. The order
// and the escapes of everything else do not change.
func (d *Dialect) NeutralQuery(raw string) string {
	if raw == "" || d.QueryPrefix == neutral.QueryPrefix && d.TokenQuery == neutral.TokenQuery {
		return raw
	}
	pairs := strings.Split(raw, "&")
	for i, pair := range pairs {
		name, value, hasValue := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil {
			continue
		}
		switch {
		case plain == d.TokenQuery:
			name = neutral.TokenQuery
		case foldPrefix(plain, d.QueryPrefix):
			name = strings.ToLower(swap(plain, d.QueryPrefix, neutral.QueryPrefix))
		default:
			continue
		}
		if pairs[i] = name; hasValue {
			pairs[i] += "=" + value
		}
	}
	return strings.Join(pairs, "&")
}

// NeutralJSON replaces the brand's names in the headers of a JSON body by neutral
// ones. Headers are the objects in members such as headers or timeoutHeaders.
// Everything else is unchanged, also a body that is not JSON.
func (d *Dialect) NeutralJSON(body []byte) []byte {
	if d.isNeutral() || !d.mayName(body) {
		return body
	}
	return renameKeys(body, d.swapKey)
}

// swapKey is the name of a key for renameKeys: that of a header in the other brand.
func (d *Dialect) swapKey(key []byte, ofHeader bool) (renamed string, changed bool) {
	if !ofHeader {
		return "", false
	}
	name := string(key)
	renamed = swap(name, d.HeaderPrefix, neutral.HeaderPrefix)
	return renamed, renamed != name
}

// mayName reports whether a JSON text may contain a name that the dialect replaces.
func (d *Dialect) mayName(body []byte) bool {
	for field := range d.Fields {
		if bytes.Contains(body, []byte(field)) {
			return true
		}
	}
	return bytes.Contains(body, []byte(`\u`)) || holdsPrefix(body, d.HeaderPrefix) || holdsPrefix(body, neutral.HeaderPrefix)
}

// holdsPrefix reports whether a text contains a prefix, ignoring case. The prefix
// ends with a hyphen.
func holdsPrefix[T string | []byte](text T, prefix string) bool {
	word := len(prefix) - 1
	for i := word; i < len(text); i++ {
		if text[i] == '-' && foldEqual(text[i-word:i], prefix[:word]) {
			return true
		}
	}
	return false
}

// foldEqual compares two texts of the same length, ignoring the case of ASCII letters.
func foldEqual[T string | []byte](text T, word string) bool {
	for i := range len(word) {
		a, b := text[i], word[i]
		if a != b && (a|0x20 != b|0x20 || b|0x20 < 'a' || b|0x20 > 'z') {
			return false
		}
	}
	return true
}

// BrandJSON replaces neutral names in a JSON body that the server wrote by the
// brand's: names of headers, and fields that the brand names differently.
func (d *Dialect) BrandJSON(body []byte) []byte {
	if d.isNeutral() && len(d.Fields) == 0 || !d.mayName(body) {
		return body
	}
	return renameKeys(body, func(key []byte, ofHeader bool) (renamed string, changed bool) {
		if field, ok := d.Fields[string(key)]; ok {
			return field, field != string(key)
		}
		return d.swapKey(key, ofHeader)
	})
}

// holdsHeader reports whether a JSON member with this name contains headers.
func holdsHeader(member []byte) bool {
	for _, end := range [...]string{"header", "headers"} {
		if n := len(member) - len(end); n >= 0 && foldEqual(member[n:], end) {
			return true
		}
	}
	return false
}

// renameKeys rewrites the keys of all objects in a JSON text and nothing else: numbers,
// spacing and the order of keys stay. The function rename also receives whether the object
// contains headers. It must not keep the key.
func renameKeys(body []byte, rename func(key []byte, ofHeader bool) (renamed string, changed bool)) []byte {
	if !validJSON(body) {
		return body
	}
	var out []byte
	copied := 0                   // bytes of body that are in out
	within := make([]bool, 0, 16) // for each open object and list: whether it contains headers
	var member []byte             // name of the member whose value comes next
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			within, member = append(within, body[i] == '{' && holdsHeader(member)), nil
		case '}', ']':
			within = within[:len(within)-1]
		case ',':
			member = nil
		case '"':
			begin := i
			i = skipString(body, i) - 1
			if next := skipBlanks(body, i+1); next < len(body) && body[next] == ':' {
				member = plainString(body[begin : i+1])
				if renamed, changed := rename(member, within[len(within)-1]); changed {
					out = append(append(out, body[copied:begin]...), quoted(renamed)...)
					copied = i + 1
				}
			}
		}
	}
	if out == nil {
		return body
	}
	return append(out, body[copied:]...)
}

// validJSON is json.Valid, three times as fast: encoding/json only decides on texts that jx
// refuses.
func validJSON(text []byte) bool { return jx.Valid(text) || json.Valid(text) }

// plainString is the value of a valid JSON string, which may be a part of the text.
func plainString(text []byte) []byte {
	if inner := text[1 : len(text)-1]; isPlain(inner) {
		return inner
	}
	var value string
	_ = json.Unmarshal(text, &value) // it is valid
	return []byte(value)
}

// quoted is a text as a JSON string.
func quoted(text string) []byte {
	b, _ := json.Marshal(text) // a string always encodes
	return b
}

// BrandText replaces neutral names in a text about the interface, such as the OpenAPI
// document, by the brand's.
func (d *Dialect) BrandText(text []byte) []byte {
	pairs := []string{neutral.HeaderPrefix, d.HeaderPrefix, neutral.QueryPrefix, d.QueryPrefix, neutral.TokenQuery, d.TokenQuery}
	for field, brand := range d.Fields {
		pairs = append(pairs, field, brand)
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}
