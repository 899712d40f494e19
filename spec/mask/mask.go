// Package mask hides credentials in what is shown or saved: journals, archives, logs,
// events, reports and recordings.
//
//	shown := mask.Header(request.Header) // Authorization: Bearer ***
//	path := mask.URL(request.RequestURI) // /v2/publish/https://***@host/?token=***
//	body := mask.JSON(document)          // {"headers": {"Cookie": "***"}}
//
// One table of names defines credentials. Names of headers, query parameters and JSON
// members match it by their ends: X-Api-Key, Svc-Forward-X-Api-Key and apiKey are the
// same. User and password of a URL are hidden too, also in a URL inside another.
//
// It does not look for credentials in what clients send as the body of a message.
package mask

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// Hidden replaces a credential.
const Hidden = "***"

// Masker replaces credentials by the results of Replace. The functions of the package
// replace them by Hidden. The replacement of a part of a URL or text must not contain
// a character that ends the part.
type Masker struct{ Replace func(secret string) string }

var hiding = Masker{func(string) string { return Hidden }}

// names are the last words of names of credentials. Sorted.
var names = []string{
	"access-key",
	"amz-signature",
	"api-key",
	"apikey",
	"auth",
	"auth-key",
	"authentication",
	"authorization",
	"cookie",
	"cookie2",
	"cookies",
	"credential",
	"credentials",
	"csrf",
	"functions-key",
	"goog-signature",
	"jwt",
	"pass",
	"passphrase",
	"passwd",
	"password",
	"private-key",
	"pwd",
	"secret",
	"secret-id",
	"secret-key",
	"session",
	"session-id",
	"sessionid",
	"sig",
	"subscription-key",
	"token",
}

// glued are the names that also match within a word: Xauthtoken.
var glued = []string{"apikey", "authorization", "cookie", "password", "secret", "sessionid", "token"}

// stems make a fast first check: every name of a credential contains one, and few other names do.
var stems = []string{"auth", "cook", "cred", "csrf", "jwt", "key", "pass", "pwd", "secret", "session", "sig", "token"}

// holds reports whether a text contains one of the parts, ignoring case.
func holds(text string, parts ...string) bool {
	var first uint32 // a bit for each first letter of a part
	for _, part := range parts {
		first |= 1 << (part[0] & 31)
	}
	for i := range len(text) {
		if first>>(text[i]&31)&1 == 0 {
			continue
		}
		for _, part := range parts {
			if text[i]|0x20 == part[0] && len(text)-i >= len(part) && strings.EqualFold(text[i:i+len(part)], part) {
				return true
			}
		}
	}
	return false
}

// Secret reports whether a name is that of a credential, in any spelling: upper or
// lower case, with hyphens, underscores or capitals between words.
func Secret(name string) bool {
	if !holds(name, stems...) {
		return false
	}
	plain := spelled(name)
	for _, n := range names {
		if rest, ok := strings.CutSuffix(plain, n); ok && (rest == "" || strings.HasSuffix(rest, "-") || slices.Contains(glued, n)) {
			return true
		}
	}
	return false
}

// spelled is a name in lower case with hyphens between words.
func spelled(name string) string {
	var b strings.Builder
	b.Grow(len(name) + 4)
	lower := false // the letter before
	for _, c := range strings.TrimSpace(name) {
		switch {
		case c == '_' || c == '.' || c == '+' || c == '/' || c == '[' || unicode.IsSpace(c): // + is a blank in a query
			c = '-'
		case c == ']':
			continue
		case unicode.IsUpper(c) && lower:
			b.WriteByte('-')
		}
		lower = unicode.IsLower(c)
		b.WriteRune(unicode.ToLower(c))
	}
	return strings.Trim(b.String(), "-") // token[]
}

// Header returns a header without credentials. It does not change h.
func Header(h http.Header) http.Header { return hiding.Header(h) }

// Header returns a header without credentials. It does not change h.
func (m Masker) Header(h http.Header) http.Header {
	var out http.Header // a copy, once something differs
	for name, values := range h {
		secret := Secret(name)
		for i, v := range values {
			var shown string
			if secret {
				shown = m.Credential(v)
			} else {
				shown = m.Value(v)
			}
			if shown == v {
				continue
			}
			if out == nil {
				out = h.Clone()
			}
			out[name][i] = shown
		}
	}
	if out == nil {
		return h
	}
	return out
}

// Credential hides the value of a header, except for its scheme, Bearer or Basic.
func (m Masker) Credential(value string) string {
	for _, scheme := range []string{"Bearer", "Basic"} {
		if kind, secret, ok := strings.Cut(value, " "); ok && strings.EqualFold(kind, scheme) {
			return kind + " " + m.Replace(secret)
		}
	}
	if value == "" {
		return ""
	}
	return m.Replace(value)
}

// Value hides credentials in a value whose name is not that of a credential: in a
// URL, a JSON Web Token or a text.
func Value(v string) string { return hiding.Value(v) }

// Value hides credentials in a value whose name is not that of a credential.
func (m Masker) Value(v string) string {
	switch {
	case isURL(v):
		return m.URL(v)
	case strings.HasPrefix(v, "eyJ") && strings.Count(v, ".") == 2:
		return m.signed(v)
	}
	return m.Text(v)
}

// signed hides credentials in the claims of a JSON Web Token, such as a signature:
// its subject is the URL of a destination.
func (m Masker) signed(token string) string {
	parts := strings.Split(token, ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return m.Text(token)
	}
	shown := m.JSON(claims)
	if bytes.Equal(shown, claims) {
		return token
	}
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(shown) + "." + m.Replace(parts[2])
}

func isURL(v string) bool {
	scheme, _, ok := strings.Cut(v, "://")
	return ok && len(scheme) < 12 && !strings.ContainsAny(scheme, " \t\n\"'/?&=")
}
