package listener

import (
	"log/slog"
	"net"
	"sync"
)

// plainListener logs clients that speak TLS to a port for plain HTTP.
type plainListener struct {
	net.Listener
	log *slog.Logger
}

// Accept waits for a connection.
func (l plainListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		return &plainConn{TCPConn: tcp, log: l.log}, err
	}
	return conn, err
}

// plainConn examines the first bytes of a connection.
type plainConn struct {
	*net.TCPConn
	log   *slog.Logger
	first sync.Once
}

// Read logs a connection that starts with a TLS handshake (RFC 8446, section 5.1).
func (c *plainConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.first.Do(func() {
		if n >= 2 && p[0] == 0x16 && p[1] == 3 {
			c.log.Warn("a client speaks TLS to this port, which speaks plain HTTP: use http:// in place of https://",
				"address", Reachable(c.LocalAddr()), "client", c.RemoteAddr().String())
		}
	})
	return n, err
}
