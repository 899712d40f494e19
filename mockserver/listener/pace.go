package listener

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// Pace is how long a client may keep a connection busy.
type Pace struct {
	Idle  time.Duration // between two requests, and before the head of one is complete
	Grace time.Duration // for a body, beside what its length takes, and for a part of an answer
	Rate  int64         // bytes of a body per second, at least
}

// pacedListener ends connections whose clients do not read what is sent: an
// answer, or an event stream. One that says nothing for a while stays.
type pacedListener struct {
	net.Listener
	grace time.Duration
}

// Accept waits for a connection.
func (l pacedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &pacedConn{conn, l.grace, clock.NewReal()}, nil
}

// pacedConn is a connection whose client must read.
type pacedConn struct {
	net.Conn
	grace time.Duration
	clock *clock.Real
}

// maxPart is how much of an answer must be read within the grace, in bytes.
const maxPart = 32 << 10

// Write sends an answer in parts, each of which has a deadline of its own.
func (c *pacedConn) Write(p []byte) (sent int, err error) {
	for err == nil && sent < len(p) {
		if err = c.SetWriteDeadline(c.clock.Now().Add(c.grace)); err != nil {
			return sent, err
		}
		var n int
		n, err = c.Conn.Write(p[sent:min(len(p), sent+maxPart)])
		sent += n
	}
	return sent, err
}

// CloseWrite lets net/http end a connection so that its last answer arrives.
func (c *pacedConn) CloseWrite() error { return closeWrite(c.Conn) }

// DefaultPace keeps everybody who makes progress: a body of 1 KiB/s, and
// answers and event streams without end.
var DefaultPace = Pace{Idle: time.Minute, Grace: 30 * time.Second, Rate: 1 << 10}

// Server is an HTTP server that keeps no connection which makes no progress.
func (p Pace) Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           p.paced(handler),
		ReadHeaderTimeout: min(p.Idle, 30*time.Second),
		IdleTimeout:       p.Idle,
		MaxHeaderBytes:    1 << 20,
	}
}

// Listener holds the connections of a listener to the pace, and to the framing of
// requests. What speaks TLS to it is named in the log.
func (p Pace) Listener(l net.Listener, log *slog.Logger) net.Listener {
	return strictListener{pacedListener{plainListener{l, log}, p.Grace}}
}

// paced gives each body a deadline that moves as the body arrives. What is left
// of a body that nobody reads has the same deadline.
func (p Pace) paced(handler http.Handler) http.Handler {
	clock := clock.NewReal()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			body := &pacedBody{ReadCloser: r.Body, pace: p, connection: http.NewResponseController(w), started: clock.Now()}
			body.extend()
			r.Body = body
		}
		handler.ServeHTTP(w, r)
	})
}

// pacedBody is a body that must arrive in time.
type pacedBody struct {
	io.ReadCloser
	pace       Pace
	connection *http.ResponseController
	started    time.Time
	received   int64 // bytes
}

// extend sets the deadline by what has arrived.
func (b *pacedBody) extend() {
	took := time.Duration(b.received) * time.Second / time.Duration(b.pace.Rate)
	_ = b.connection.SetReadDeadline(b.started.Add(b.pace.Grace + took)) // a connection without deadlines is no server's own
}

// Read moves the deadline with each part that arrives. Once the body is complete
// there is none, so that the answer may take its time.
func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.received += int64(n)
	switch {
	case err == nil:
		b.extend()
	case err == io.EOF: //nolint:errorlint // as io.Reader has it
		_ = b.connection.SetReadDeadline(time.Time{}) // an answer may take its time
	case response.IsTimeout(err):
		err = response.SlowBody(b.pace.Rate, b.pace.Grace)
	}
	return n, err
}
