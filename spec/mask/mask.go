// Package mask takes credentials out of what is shown or saved: journals,
// archives, logs, events, reports and recordings.
//
//	shown := mask.Header(request.Header) // Authorization: Bearer ***
//	path := mask.URL(request.RequestURI) // /v2/publish/https://***@host/?token=***
//	body := mask.JSON(document)          // {"headers": {"Cookie": "***"}}
//
// What counts as a credential is one table of names, which header names, names
// of query parameters and names of JSON members are held to, whatever comes
// before them: X-Api-Key, Svc-Forward-X-Api-Key and apiKey are the same. Of a
// URL, user and password are taken out as well, also of a URL inside another.
//
// It does not look for credentials in what people send as the body of a message.
package mask

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// Hidden stands for a credential.
const Hidden = "***"

// names are the words that a name of a credential ends with. Sorted.
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

// glued are those that words without a hyphen end with, too: Xauthtoken.
var glued = []string{"apikey", "authorization", "cookie", "password", "secret", "sessionid", "token"}

// stems are in every name of a credential: looking for them is fast, and few
// names have one.
var stems = []string{"auth", "cook", "cred", "csrf", "jwt", "key", "pass", "pwd", "secret", "session", "sig", "token"}

// holds reports whether a text has one of the parts, in upper or lower case.
func holds(text string, parts ...string) bool {
	for i := range len(text) {
		for _, part := range parts {
			if text[i]|0x20 == part[0] && len(text)-i >= len(part) && strings.EqualFold(text[i:i+len(part)], part) {
				return true
			}
		}
	}
	return false
}

// Secret reports whether a name is that of a credential, in whatever spelling:
// upper or lower case, with hyphens, underscores or capitals between words.
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
		case c == '_' || c == '.' || c == ' ' || c == '/' || c == '[':
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

// Header is a header without credentials. The one that is given stays as it is.
func Header(h http.Header) http.Header {
	var out http.Header // a copy, once something differs
	for name, values := range h {
		secret := Secret(name)
		for i, v := range values {
			shown := ""
			if secret {
				shown = credential(v)
			} else {
				shown = Value(v)
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

// credential hides the value of a header, but not the scheme before it.
func credential(value string) string {
	for _, scheme := range []string{"Bearer", "Basic"} {
		if kind, _, ok := strings.Cut(value, " "); ok && strings.EqualFold(kind, scheme) {
			return kind + " " + Hidden
		}
	}
	if value == "" {
		return ""
	}
	return Hidden
}

// Value is the value of something that is no credential by its name: a URL
// without credentials, or a text without.
func Value(v string) string {
	switch {
	case isURL(v):
		return URL(v)
	case strings.HasPrefix(v, "eyJ") && strings.Count(v, ".") == 2:
		return signed(v)
	}
	return Text(v)
}

// signed is a JSON Web Token, such as a signature, whose claims hold no
// credentials: its subject is the URL of a destination.
func signed(token string) string {
	parts := strings.Split(token, ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Text(token)
	}
	shown := JSON(claims)
	if bytes.Equal(shown, claims) {
		return token
	}
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(shown) + "." + Hidden
}

func isURL(v string) bool {
	scheme, _, ok := strings.Cut(v, "://")
	return ok && len(scheme) < 12 && !strings.ContainsAny(scheme, " \t\n\"'/?&=")
}
