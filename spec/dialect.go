package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// Dialect is the naming of one brand of the interface. It is applied once at
// the edge: inbound names are made neutral, outbound names get the brand's.
// Neutral names and the brand's change places, so that the way back restores
// every name, also one of the other kind that a client forwards.
type Dialect struct {
	Name              string            `yaml:"name"`
	HeaderPrefix      string            `yaml:"headerPrefix"` // Svc-
	QueryPrefix       string            `yaml:"queryPrefix"`  // svc-
	TokenQuery        string            `yaml:"tokenQuery"`   // svc_token
	Issuer            string            `yaml:"issuer"`       // iss of signatures
	UserAgent         string            `yaml:"userAgent"`    // of deliveries
	PluginPrefix      string            `yaml:"pluginPrefix"` // default prefix of rate-limit keys
	Paths             []string          `yaml:"paths"`        // beginnings of paths that only clients of the brand call
	Fields            map[string]string `yaml:"fields"`       // neutral JSON field -> brand's
	Env               map[string]string `yaml:"env"`          // neutral name without UNDERSTUDY_ -> brand's variable
	Token             string            `yaml:"token"`
	CurrentSigningKey string            `yaml:"currentSigningKey"`
	NextSigningKey    string            `yaml:"nextSigningKey"`
	UserID            string            `yaml:"userID"`
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
	Name:         "upstash",
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
	},
	Token:             "eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=",
	CurrentSigningKey: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
	NextSigningKey:    "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
	UserID:            "defaultUser",
}

// DevelopmentToken reports whether a token is that of a built-in dialect, which
// everybody knows.
func DevelopmentToken(token string) bool { return token == neutral.Token || token == upstash.Token }

// BuiltInDialects are svc and upstash.
func BuiltInDialects() Dialects {
	svc, brand := neutral, upstash
	return Dialects{&svc, &brand}
}

// Auto stands for every built-in dialect, see Dialects.OfRequest.
const Auto = "auto"

// LoadDialect finds a dialect: svc, upstash, or a YAML file whose keys are
// those of Dialect. What a file leaves out is as in svc, but its name is that of the file; what needs one dialect
// has the names of svc under auto.
func LoadDialect(nameOrFile string) (*Dialect, error) {
	switch nameOrFile {
	case "", Auto, neutral.Name:
		d := neutral
		return &d, nil
	case upstash.Name:
		d := upstash
		return &d, nil
	}
	text, err := os.ReadFile(nameOrFile)
	if err != nil {
		return nil, fmt.Errorf("dialect %q: must be auto, svc, upstash or a YAML file: %w", nameOrFile, err)
	}
	d := neutral
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("dialect %s: the file is empty", nameOrFile)
	} else if err != nil {
		return nil, fmt.Errorf("dialect %s: %w", nameOrFile, err)
	}
	if d.Name == neutral.Name && d.HeaderPrefix != neutral.HeaderPrefix {
		base := filepath.Base(nameOrFile)
		d.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("dialect %s: %w", nameOrFile, err)
	}
	d.HeaderPrefix = textproto.CanonicalMIMEHeaderKey(d.HeaderPrefix + "x")[:len(d.HeaderPrefix)]
	return &d, nil
}

// What prefixes and names that a file gives look like.
var (
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*-$`)
	nameForm   = regexp.MustCompile(`^[\w.-]+$`)
)

// check refuses names that no request could have, or that belong to another
// dialect.
func (d *Dialect) check() error {
	for _, field := range []struct {
		name, value string
		form        *regexp.Regexp
		rule        string
	}{
		{"name", d.Name, nameForm, "letters, digits, _, . and -"},
		{"headerPrefix", d.HeaderPrefix, prefixForm, "letters, digits and hyphens, with a hyphen at the end, such as Acme-"},
		{"queryPrefix", d.QueryPrefix, prefixForm, "letters, digits and hyphens, with a hyphen at the end, such as acme-"},
		{"tokenQuery", d.TokenQuery, nameForm, "letters, digits, _, . and -"},
	} {
		if !field.form.MatchString(field.value) {
			return fmt.Errorf("%s %q: must be %s", field.name, field.value, field.rule)
		}
	}
	for _, own := range BuiltInDialects() {
		if own.Name == d.Name && !strings.EqualFold(own.HeaderPrefix, d.HeaderPrefix) || d.Name == Auto {
			return fmt.Errorf("name %q: must not be that of a built-in dialect", d.Name)
		}
	}
	return nil
}

// isNeutral reports whether names need no change.
func (d *Dialect) isNeutral() bool { return d.HeaderPrefix == neutral.HeaderPrefix }

// forwarded marks what follows as the name of a header for the destination.
const forwarded = "Forward-"

// swap exchanges the prefixes a and b at the start of a name, and wherever a
// nested name begins: after Forward-. Applied twice, it changes nothing.
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

func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func foldIndex(s, part string) int {
	for i := 0; i+len(part) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// NeutralHeader takes the brand's names out of a header.
func (d *Dialect) NeutralHeader(h http.Header) http.Header {
	if d.isNeutral() {
		return h
	}
	changed := false
	for name := range h {
		if foldIndex(name, d.HeaderPrefix) >= 0 || foldIndex(name, neutral.HeaderPrefix) >= 0 {
			changed = true
			break
		}
	}
	if !changed {
		return h
	}
	out := make(http.Header, len(h))
	for name, values := range h {
		name = textproto.CanonicalMIMEHeaderKey(swap(name, d.HeaderPrefix, neutral.HeaderPrefix))
		out[name] = append(out[name], values...)
	}
	return out
}

// BrandHeader puts the brand's names into a header.
func (d *Dialect) BrandHeader(h http.Header) http.Header { return d.NeutralHeader(h) }

// SigningKey is a key as the dialect knows it: each has development keys of its
// own, which stand for one another.
func (d *Dialect) SigningKey(key string) string {
	switch key {
	case neutral.CurrentSigningKey:
		return d.CurrentSigningKey
	case neutral.NextSigningKey:
		return d.NextSigningKey
	}
	return key
}

// NeutralQuery takes the brand's names out of a raw query; order and escapes
// of everything else stay.
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

// NeutralJSON takes the brand's names out of the headers in a JSON body, which
// are the objects that a member such as headers or timeoutHeaders holds; all
// else stays as it is, and so does what is not JSON.
func (d *Dialect) NeutralJSON(body []byte) []byte {
	escaped := bytes.Contains(body, []byte(`\u`)) // a key may hold the prefix in escapes
	if d.isNeutral() || !escaped && foldIndex(string(body), d.HeaderPrefix) < 0 && foldIndex(string(body), neutral.HeaderPrefix) < 0 {
		return body
	}
	return renameKeys(body, func(key string, ofHeader bool) string {
		if !ofHeader {
			return key
		}
		return swap(key, d.HeaderPrefix, neutral.HeaderPrefix)
	})
}

// BrandJSON puts the brand's names into a JSON body that the server wrote: into
// its headers, and the fields that the brand calls otherwise.
func (d *Dialect) BrandJSON(body []byte) []byte {
	if d.isNeutral() && len(d.Fields) == 0 {
		return body
	}
	return renameKeys(body, func(key string, ofHeader bool) string {
		if field, ok := d.Fields[key]; ok {
			return field
		}
		if !ofHeader {
			return key
		}
		return swap(key, d.HeaderPrefix, neutral.HeaderPrefix)
	})
}

// holdsHeader reports whether a JSON member holds a header, by its name.
func holdsHeader(member string) bool {
	member = strings.ToLower(member)
	return strings.HasSuffix(member, "header") || strings.HasSuffix(member, "headers")
}

// renameKeys rewrites the keys of all objects in a JSON text and nothing else:
// numbers, spacing inside strings and the order of keys stay. The name function
// also receives whether the object is a header.
func renameKeys(body []byte, name func(key string, ofHeader bool) string) []byte {
	if !json.Valid(body) {
		return body
	}
	out := make([]byte, 0, len(body)+64)
	var within []bool // of each open object and list: whether it is a header
	member := ""      // whose value comes next
	for i := 0; i < len(body); {
		switch body[i] {
		case '{', '[':
			within, member = append(within, body[i] == '{' && holdsHeader(member)), ""
		case '}', ']':
			within = within[:len(within)-1]
		case ',':
			member = ""
		}
		if body[i] != '"' {
			out = append(out, body[i])
			i++
			continue
		}
		end := i + 1
		for body[end] != '"' {
			if body[end] == '\\' {
				end++
			}
			end++
		}
		end++
		text := body[i:end]
		if next := bytes.TrimLeft(body[end:], " \t\r\n"); len(next) > 0 && next[0] == ':' {
			_ = json.Unmarshal(text, &member) // the whole is valid
			text = renamedKey(text, func(key string) string { return name(key, within[len(within)-1]) })
		}
		out = append(out, text...)
		i = end
	}
	return out
}

func renamedKey(text []byte, name func(string) string) []byte {
	var key string
	if err := json.Unmarshal(text, &key); err != nil {
		return text
	}
	renamed := name(key)
	if renamed == key {
		return text
	}
	b, err := json.Marshal(renamed)
	if err != nil {
		return text
	}
	return b
}

// BrandText puts the brand's names into a text about the interface, such as
// the document itself.
func (d *Dialect) BrandText(text []byte) []byte {
	pairs := []string{neutral.HeaderPrefix, d.HeaderPrefix, neutral.QueryPrefix, d.QueryPrefix, neutral.TokenQuery, d.TokenQuery}
	for field, brand := range d.Fields {
		pairs = append(pairs, field, brand)
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}
