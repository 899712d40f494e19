package spec

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
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
func WrongScheme(address, text string) string {
	contains := func(part string) bool { return strings.Contains(text, part) }
	host := hostOf(address)
	switch {
	case strings.HasPrefix(address, "https:") && slices.ContainsFunc(plainAnswers, contains):
		return host + " speaks plain HTTP, not TLS: use http:// in place of https://"
	case strings.HasPrefix(address, "http:") && slices.ContainsFunc(tlsAnswers, contains):
		return host + " speaks TLS, not plain HTTP: use https:// in place of http://"
	}
	return ""
}

// hostOf is the host and port of a URL, without user and password.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the destination"
	}
	return u.Host
}

// Closed reports whether a server ended the connection without an answer, as
// most that speak TLS do when they receive plain HTTP.
func Closed(err error) bool {
	text := err.Error() // reports keep the text only
	return strings.HasSuffix(text, io.EOF.Error()) || strings.Contains(text, syscall.ECONNRESET.Error())
}

// probeLimit is how long the handshake of WrongSchemeOf may take.
const probeLimit = 2 * time.Second

// WrongSchemeOf is WrongScheme for the error of a call. When the server has
// closed the connection, it tries whether a TLS handshake succeeds there.
func WrongSchemeOf(ctx context.Context, address string, err error) string {
	if why := WrongScheme(address, err.Error()); why != "" || !strings.HasPrefix(address, "http:") || !Closed(err) {
		return why
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostOf(address))
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	probe := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // only whether it speaks TLS matters
	if probe.HandshakeContext(ctx) != nil {
		return ""
	}
	return WrongScheme(address, tlsAnswers[0])
}
