package listener

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// Pace limits how long a client may keep a connection without progress. ReadTimeout and
// WriteTimeout of net/http cannot do this: each is one deadline for all of a request, which
// either cuts off large bodies, lists and event streams, or lets a stalled client hold on.
type Pace struct {
	Idle  time.Duration // between two requests, and until the head of one is complete
	Grace time.Duration // for a body, in addition to its bytes at Rate, and for each part of a response
	Rate  int64         // minimum bytes of a body per second
}

// pacedListener ends connections whose clients do not read a response or an event
// stream. A stream without events stays open.
type pacedListener struct {
	net.Listener
	grace  time.Duration
	secure *tls.Config // nil: plain HTTP
	log    *slog.Logger
	told   atomic.Pointer[string] // host of the last client that was logged for speaking plain HTTP; "" before
}

// Accept waits for a connection. The first Read makes a TLS handshake, not Accept: a slow
// client does not delay others, and the deadline of a request head applies.
func (l *pacedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn = &pacedConn{lazyConn: lazyConn{Conn: conn, clock: clock.NewReal()}, grace: l.grace}
	if l.secure != nil {
		conn = tls.Server(conn, l.secure)
	}
	return &strictConn{Conn: conn, of: l}, nil
}

// pacedConn is a connection with a deadline for each write.
type pacedConn struct {
	lazyConn
	grace time.Duration
	due   atomic.Int64 // the write deadline, Unix ns; 0 for none. A close sets it during a write
}

// maxPart is the size of a part of a response, in bytes; each has the grace.
const maxPart = 32 << 10

// Write sends a response in parts. Each part has the grace, or up to an eighth more,
// so that not every write sets the deadline.
func (c *pacedConn) Write(p []byte) (sent int, err error) {
	for err == nil && sent < len(p) {
		if now := c.clock.Now(); c.due.Load() < now.Add(c.grace).UnixNano() {
			due := now.Add(c.grace + c.grace/8)
			c.due.Store(due.UnixNano())
			if err = c.Conn.SetWriteDeadline(due); err != nil {
				return sent, err
			}
		}
		var n int
		n, err = c.Conn.Write(p[sent:min(len(p), sent+maxPart)])
		sent += n
	}
	return sent, err
}

// SetWriteDeadline sets a deadline that the next Write replaces. net/http sets none after each
// request: Write then extends the one that the connection has.
func (c *pacedConn) SetWriteDeadline(t time.Time) error {
	if t.IsZero() && c.due.Load() > 0 {
		return nil
	}
	c.due.Store(0)
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets the deadlines of reads and writes.
func (c *pacedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite lets net/http close a connection without losing its last response.
func (c *pacedConn) CloseWrite() error { return closeWrite(c.Conn) }

// DefaultPace ends only connections without progress. Bodies must arrive at 1 KiB/s;
// responses and event streams may last for any time.
var DefaultPace = Pace{Idle: time.Minute, Grace: 30 * time.Second, Rate: 1 << 10}

// Server returns an HTTP server that ends connections without progress.
func (p Pace) Server(handler http.Handler) *http.Server {
	fresh := freshConns{open: map[net.Conn]bool{}}
	server := &http.Server{
		ConnState:         fresh.see,
		Handler:           p.paced(handler),
		ReadHeaderTimeout: min(p.Idle, 30*time.Second),
		IdleTimeout:       p.Idle,
		MaxHeaderBytes:    1 << 20,
	}
	server.RegisterOnShutdown(fresh.shut)
	return server
}

// Listener applies the pace and the check of framing to the connections of a
// listener. It speaks TLS if secure is not nil, and then only HTTP/1.1, whatever the
// configuration says: the limits of this package assume one request at a time on a
// connection. Clients that use the other protocol are logged.
func (p Pace) Listener(l net.Listener, secure *tls.Config, log *slog.Logger) net.Listener {
	if secure != nil {
		secure = secure.Clone()
		secure.NextProtos = []string{"http/1.1"}
	}
	paced := &pacedListener{Listener: l, grace: p.Grace, secure: secure, log: log}
	paced.told.Store(new(string))
	return paced
}

// paced gives each body a deadline that moves as the body arrives. The deadline also
// holds when net/http reads the rest of a body that the handler has not read.
func (p Pace) paced(handler http.Handler) http.Handler {
	clock := clock.NewReal()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = p.body(r, w, clock.Now())
		}
		handler.ServeHTTP(w, r)
	})
}

// pacedBody is a request body that must arrive at the rate of a pace.
type pacedBody struct {
	io.ReadCloser
	request    *http.Request
	pace       Pace
	connection http.ResponseController
	started    time.Time
	received   int64 // bytes
	ended      bool
}

// body wraps a request body, and sets its first deadline.
func (p Pace) body(r *http.Request, w http.ResponseWriter, started time.Time) *pacedBody {
	b := &pacedBody{ReadCloser: r.Body, request: r, pace: p, connection: *http.NewResponseController(w), started: started}
	b.extend()
	return b
}

// extend sets the deadline according to the bytes received.
func (b *pacedBody) extend() {
	took := time.Duration(b.received) * time.Second / time.Duration(b.pace.Rate)
	_ = b.connection.SetReadDeadline(b.started.Add(b.pace.Grace + took)) // fails only without a real connection, as in tests
}

// Read moves the deadline with each part that arrives, and removes it at the end.
func (b *pacedBody) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p)
	b.received += int64(n)
	switch {
	case err == nil:
		b.extend()
	case err == io.EOF: //nolint:errorlint // as io.Reader has it
		b.ended, b.request.Body = true, b.ReadCloser  // when it is closed, net/http does not look for a rest
		_ = b.Close()                                 // nothing is left
		_ = b.connection.SetReadDeadline(time.Time{}) // the handler may take any time to respond
	case response.IsTimeout(err):
		err = response.SlowBody(b.pace.Rate, b.pace.Grace)
	}
	return n, err
}
