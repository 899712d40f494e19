package spec

import (
	"slices"
	"strings"
)

// What the two mistakes look like to a client: in the text of its error, or in
// the body of an answer with status 400.
var (
	plainAnswers = []string{"server gave HTTP response to HTTPS client", "first record does not look like a TLS handshake"}
	tlsAnswers   = []string{
		`malformed HTTP response "\x15\x03`, // a TLS alert
		"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port",
	}
)

// WrongScheme says in words that a call to a URL used http for a port that
// speaks TLS, or https for one that does not; "" for any other text of an error
// or an answer.
func WrongScheme(url, text string) string {
	contains := func(part string) bool { return strings.Contains(text, part) }
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://"), "/")
	switch {
	case strings.HasPrefix(url, "https:") && slices.ContainsFunc(plainAnswers, contains):
		return host + " speaks plain HTTP, not TLS: use http:// in place of https://"
	case strings.HasPrefix(url, "http:") && slices.ContainsFunc(tlsAnswers, contains):
		return host + " speaks TLS, not plain HTTP: use https:// in place of http://"
	}
	return ""
}
