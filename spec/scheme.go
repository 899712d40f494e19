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

// How a client sees the wrong scheme: in the text of its error, or in the body of a
// response with status 400.
var (
	plainAnswers = []string{"server gave HTTP response to HTTPS client", "first record does not look like a TLS handshake"}
	tlsAnswers   = []string{
		`malformed HTTP response "\x15\x03`, // a TLS alert
		"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port",
	}
)

// WrongScheme explains that a call to a URL used http for a port that speaks TLS, or
// https for one that does not. It looks for the cause in the text of an error or
// response, and returns "" if there is none.
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

// Closed reports whether a server closed the connection without a response, as most
// servers with TLS do when they receive plain HTTP.
func Closed(err error) bool {
	text := err.Error() // errors from reports have only the text
	return strings.HasSuffix(text, io.EOF.Error()) || strings.Contains(text, syscall.ECONNRESET.Error())
}

// probeLimit is the timeout of the TLS handshake in WrongSchemeOf.
const probeLimit = 2 * time.Second

// WrongSchemeOf is WrongScheme for the error of a call. When the server closed the
// connection, it also tries a TLS handshake.
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
