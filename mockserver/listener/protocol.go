package listener

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
)

// plainAnswer is the response of net/http to plain HTTP on a TLS port. Clients, and
// package spec, recognize it.
const plainAnswer = "HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"

// explain logs why the first Read of a connection failed, or that its client speaks the other
// protocol.
func (l *pacedListener) explain(c net.Conn, start []byte, err error) {
	where := []any{"address", Reachable(c.LocalAddr()), "client", c.RemoteAddr().String()}
	if l.secure == nil {
		if len(start) >= 2 && start[0] == 0x16 && start[1] == 3 { // a TLS handshake (RFC 8446, section 5.1)
			l.log.Warn("a client speaks TLS to this port, which speaks plain HTTP: use http:// in place of https://", where...)
		}
		return
	}
	plain, isPlain := errors.AsType[tls.RecordHeaderError](err)
	alert, isAlert := errors.AsType[*net.OpError](err)
	switch {
	case isPlain && plain.Conn != nil && isHTTP(plain.RecordHeader):
		_, _ = io.WriteString(plain.Conn, plainAnswer)                                             // the client may have disconnected
		if host, _, _ := net.SplitHostPort(c.RemoteAddr().String()); *l.told.Swap(&host) != host { // probes repeat: log again only after another client
			l.log.Warn("a client speaks plain HTTP to this port, which speaks TLS: use https:// in place of http://", where...)
		}
	case isAlert && alert.Op == "remote error":
		l.log.Warn("a client ended the TLS handshake: it must trust the certificate, or the CA that has signed it", append(where, "reason", alert.Err.Error())...)
	case err == nil, errors.Is(err, io.EOF), isAlert, errors.Is(err, os.ErrDeadlineExceeded):
		// port probes, and connections that were opened in advance
	default:
		l.log.Warn("TLS handshake failed", append(where, "reason", err.Error())...)
	}
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
