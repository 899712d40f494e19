package listener

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

// secureListener speaks TLS. The first Read makes the handshake, not Accept: a slow
// client does not delay others, and the deadline of a request head applies.
type secureListener struct {
	net.Listener
	config *tls.Config
	log    *slog.Logger
	told   *atomic.Pointer[string] // host of the last client that was logged for speaking plain HTTP
}

// newSecureListener offers only HTTP/1.1, whatever the configuration says: the
// limits of this package assume one request at a time on a connection.
func newSecureListener(l net.Listener, config *tls.Config, log *slog.Logger) secureListener {
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	return secureListener{l, config, log, &atomic.Pointer[string]{}}
}

// Accept waits for a connection.
func (l secureListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &secureConn{Conn: tls.Server(conn, l.config), of: l}, nil
}

// secureConn logs why a handshake failed.
type secureConn struct {
	*tls.Conn
	of    secureListener
	first sync.Once
}

// plainAnswer is the response of net/http to plain HTTP on a TLS port. Clients, and
// package spec, recognize it.
const plainAnswer = "HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"

// Read logs the error of the first read: many clients refuse a certificate only
// after the handshake.
func (c *secureConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.first.Do(func() { c.explain(err) })
	return n, err
}

func (c *secureConn) explain(err error) {
	where := []any{"address", Reachable(c.LocalAddr()), "client", c.RemoteAddr().String()}
	plain, isPlain := errors.AsType[tls.RecordHeaderError](err)
	alert, isAlert := errors.AsType[*net.OpError](err)
	switch {
	case isPlain && plain.Conn != nil && isHTTP(plain.RecordHeader):
		_, _ = io.WriteString(plain.Conn, plainAnswer)                                                         // the client may have disconnected
		if host, _, _ := net.SplitHostPort(c.RemoteAddr().String()); lastTold(c.of.told.Swap(&host)) != host { // probes repeat: log again only after another client
			c.of.log.Warn("a client speaks plain HTTP to this port, which speaks TLS: use https:// in place of http://", where...)
		}
	case isAlert && alert.Op == "remote error":
		c.of.log.Warn("a client ended the TLS handshake: it must trust the certificate, or the CA that has signed it", append(where, "reason", alert.Err.Error())...)
	case err == nil, errors.Is(err, io.EOF), isAlert, errors.Is(err, os.ErrDeadlineExceeded):
		// port probes, and connections that were opened in advance
	default:
		c.of.log.Warn("TLS handshake failed", append(where, "reason", err.Error())...)
	}
}

// lastTold is *text; "" for nil, before the first client was logged.
func lastTold(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// isHTTP reports whether the first bytes of a connection look like an HTTP method.
func isHTTP(start [5]byte) bool {
	for _, b := range start[:3] {
		if b < 'A' || b > 'Z' {
			return false
		}
	}
	return true
}
