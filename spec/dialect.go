package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// Dialect is the naming of one brand of the interface. It is applied once at
// the edge: inbound names are made neutral, outbound names get the brand's.
type Dialect struct {
	Name              string            `yaml:"name"`
	HeaderPrefix      string            `yaml:"headerPrefix"` // Svc-
	QueryPrefix       string            `yaml:"queryPrefix"`  // svc-
	TokenQuery        string            `yaml:"tokenQuery"`   // svc_token
	Issuer            string            `yaml:"issuer"`       // iss of signatures
	UserAgent         string            `yaml:"userAgent"`    // of deliveries
	PluginPrefix      string            `yaml:"pluginPrefix"` // default prefix of rate-limit keys
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

// LoadDialect finds a dialect: svc, upstash, or a YAML file whose keys are
// those of Dialect. What a file leaves out is as in svc.
func LoadDialect(nameOrFile string) (*Dialect, error) {
	switch nameOrFile {
	case "", neutral.Name:
		d := neutral
		return &d, nil
	case upstash.Name:
		d := upstash
		return &d, nil
	}
	text, err := os.ReadFile(nameOrFile)
	if err != nil {
		return nil, fmt.Errorf("dialect %q: accepted are svc, upstash, or a YAML file: %w", nameOrFile, err)
	}
	d := neutral
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("dialect %s: %w", nameOrFile, err)
	}
	if !strings.HasSuffix(d.HeaderPrefix, "-") || !strings.HasSuffix(d.QueryPrefix, "-") || d.TokenQuery == "" {
		return nil, fmt.Errorf("dialect %s: %w", nameOrFile, errors.New("headerPrefix and queryPrefix end with a hyphen, tokenQuery is not empty"))
	}
	d.HeaderPrefix = textproto.CanonicalMIMEHeaderKey(d.HeaderPrefix + "x")[:len(d.HeaderPrefix)]
	return &d, nil
}

// isNeutral reports whether names need no change.
func (d *Dialect) isNeutral() bool { return d.HeaderPrefix == neutral.HeaderPrefix }

// rename replaces the prefix from at the start of a name, and wherever a
// nested configuration name begins: after Forward- and Callback-.
func rename(name, from, to string) string {
	if !foldPrefix(name, from) {
		if i := foldIndex(name, "-Forward-"+from); i >= 0 {
			return name[:i+len("-Forward-")] + to + name[i+len("-Forward-")+len(from):]
		}
		return name
	}
	rest := name[len(from):]
	if i := foldIndex(rest, "Forward-"+from); i == 0 || i > 0 && rest[i-1] == '-' {
		i += len("Forward-")
		rest = rest[:i] + to + rest[i+len(from):]
	}
	return to + rest
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

func renameHeader(h http.Header, from, to string) http.Header {
	changed := false
	for name := range h {
		if foldIndex(name, from) >= 0 {
			changed = true
			break
		}
	}
	if !changed {
		return h
	}
	out := make(http.Header, len(h))
	for name, values := range h {
		name = textproto.CanonicalMIMEHeaderKey(rename(name, from, to))
		out[name] = append(out[name], values...)
	}
	return out
}

// NeutralHeader takes the brand's names out of a header.
func (d *Dialect) NeutralHeader(h http.Header) http.Header {
	if d.isNeutral() {
		return h
	}
	return renameHeader(h, d.HeaderPrefix, neutral.HeaderPrefix)
}

// BrandHeader puts the brand's names into a header.
func (d *Dialect) BrandHeader(h http.Header) http.Header {
	if d.isNeutral() {
		return h
	}
	return renameHeader(h, neutral.HeaderPrefix, d.HeaderPrefix)
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
			name = strings.ToLower(rename(plain, d.QueryPrefix, neutral.QueryPrefix))
		default:
			continue
		}
		if pairs[i] = name; hasValue {
			pairs[i] += "=" + value
		}
	}
	return strings.Join(pairs, "&")
}

// NeutralJSON takes the brand's names out of the object keys of a JSON body;
// values stay as they are, and so does what is not JSON.
func (d *Dialect) NeutralJSON(body []byte) []byte {
	if d.isNeutral() || foldIndex(string(body), d.HeaderPrefix) < 0 {
		return body
	}
	return renameKeys(body, func(key string) string { return rename(key, d.HeaderPrefix, neutral.HeaderPrefix) })
}

// BrandJSON puts the brand's names into the object keys of a JSON body that is
// ours: header names, and the fields that the brand calls otherwise.
func (d *Dialect) BrandJSON(body []byte) []byte {
	if d.isNeutral() && len(d.Fields) == 0 {
		return body
	}
	return renameKeys(body, func(key string) string {
		if field, ok := d.Fields[key]; ok {
			return field
		}
		return rename(key, neutral.HeaderPrefix, d.HeaderPrefix)
	})
}

// renameKeys rewrites the keys of all objects in a JSON text and nothing else:
// numbers, spacing inside strings and the order of keys stay.
func renameKeys(body []byte, name func(string) string) []byte {
	if !json.Valid(body) {
		return body
	}
	out := make([]byte, 0, len(body)+64)
	for i := 0; i < len(body); {
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
			text = renamedKey(text, name)
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

// HeaderPrefixes are those of the dialects that need no file.
func HeaderPrefixes() []string { return []string{neutral.HeaderPrefix, upstash.HeaderPrefix} }
