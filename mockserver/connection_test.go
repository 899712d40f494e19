package mockserver_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// restarting is a destination that can be stopped and started again at its
// address, as an app is while it is developed.
type restarting struct {
	t     *testing.T
	addr  string
	tls   *tls.Config // nil: plain HTTP
	reset bool        // its connections end with a reset, not in good order
	got   atomic.Int64

	srv   *http.Server
	mu    sync.Mutex
	conns map[net.Conn]bool
	done  sync.WaitGroup
}

func (r *restarting) start() {
	r.t.Helper()
	l, err := net.Listen("tcp", r.addr)
	expect.NoError(r.t, err)
	r.addr = l.Addr().String()
	if r.tls != nil {
		l = tls.NewListener(l, r.tls)
	}
	r.mu.Lock() // connections of the one before may still be ending
	r.conns = map[net.Conn]bool{}
	r.mu.Unlock()
	r.srv = &http.Server{
		ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
			_, _ = io.Copy(io.Discard, q.Body)
			r.got.Add(1)
		}),
		ConnState: func(c net.Conn, s http.ConnState) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.conns[c] = s != http.StateClosed
		},
	}
	srv := r.srv
	r.done.Go(func() { _ = srv.Serve(l) })
}

func (r *restarting) stop() {
	if r.reset {
		r.mu.Lock()
		for c := range r.conns {
			if s, ok := c.(*tls.Conn); ok {
				c = s.NetConn()
			}
			_ = c.(*net.TCPConn).SetLinger(0) // one that is closed already refuses
		}
		r.mu.Unlock()
	}
	_ = r.srv.Close()
	r.done.Wait()
}

// A destination that was restarted since the last delivery has closed the
// connections that the server keeps. The delivery is repeated on a fresh one,
// within the same attempt.
func TestRestartedDestination(t *testing.T) {
	t.Parallel()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	t.Cleanup(certified.Close)
	for name, c := range map[string]struct {
		secure, reset bool
		body          []byte
	}{
		"closed":                      {false, false, []byte("x")},
		"closed, without a body":      {false, false, nil},
		"closed, with a large body":   {false, false, bytes.Repeat([]byte("x"), 300<<10)},
		"reset":                       {false, true, []byte("x")},
		"reset, without a body":       {false, true, nil},
		"reset, with a large body":    {false, true, bytes.Repeat([]byte("x"), 300<<10)},
		"closed, over TLS":            {true, false, []byte("x")},
		"reset, over TLS":             {true, true, []byte("x")},
		"reset, over TLS, large body": {true, true, bytes.Repeat([]byte("x"), 300<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, scheme := mockserver.Config{Clock: "real"}, "http://"
			app := &restarting{t: t, addr: "127.0.0.1:0", reset: c.reset}
			if c.secure {
				app.tls, scheme = certified.TLS, "https://"
				cfg.Transport = func(rt http.RoundTripper) http.RoundTripper {
					rt.(*http.Transport).TLSClientConfig = certified.Client().Transport.(*http.Transport).TLSClientConfig
					return rt
				}
			}
			app.start()
			defer func() { app.stop() }()
			u := mockserver.RunT(t, cfg)
			const rounds, each = 25, 4
			for range rounds {
				for range each { // several connections stay open
					u.Publish(scheme+app.addr, c.body, "Svc-Retries: 0")
				}
				u.Settle()
				app.stop()
				app.start()
			}
			failed := 0
			for _, d := range u.Deliveries() {
				if d.Response.Status != http.StatusOK {
					failed++
					t.Logf("attempt failed: %s", d.Error)
				}
			}
			if failed > 0 || app.got.Load() != rounds*each {
				t.Errorf("%d of %d attempts failed, %d requests arrived; want none, and each once", failed, rounds*each, app.got.Load())
			}
		})
	}
}

// A request whose answer has begun is not repeated: the destination has seen it.
func TestABrokenAnswerIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"in the status line": "HTTP/1.1 2",
		"in the headers":     "HTTP/1.1 200 OK\r\nContent-",
		"in the body":        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			expect.NoError(t, err)
			var got atomic.Int64
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					serving.Go(func() {
						defer conn.Close()
						for r := bufio.NewReader(conn); ; {
							q, err := http.ReadRequest(r)
							if err != nil {
								return
							}
							_, _ = io.Copy(io.Discard, q.Body)
							if got.Add(1) > 1 { // the connection is a reused one
								_, _ = io.WriteString(conn, answer)
								return
							}
							_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
						}
					})
				}
			})
			t.Cleanup(func() { _ = l.Close(); serving.Wait() })
			u := mockserver.RunT(t)
			for range 2 {
				u.Publish("http://"+l.Addr().String(), []byte("x"), "Svc-Retries: 0")
				u.Settle()
			}
			expect.Equal(t, "number of requests", got.Load(), 2)
			if d := u.Deliveries(); d[1].Response.Status != 0 || d[1].Error == "" {
				t.Errorf("second attempt: status %d, error %q; want a failure", d[1].Response.Status, d[1].Error)
			}
		})
	}
}

// The headers and the body of a delivery leave in one write, which is half of the system
// calls. Over TLS each write is a record of its own, and a read returns one record.
func TestADeliveryIsOneWrite(t *testing.T) {
	t.Parallel()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	t.Cleanup(certified.Close)
	l, err := tls.Listen("tcp", "127.0.0.1:0", certified.TLS)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	u := mockserver.RunT(t, mockserver.Config{Clock: "real", Transport: func(rt http.RoundTripper) http.RoundTripper {
		rt.(*http.Transport).TLSClientConfig = certified.Client().Transport.(*http.Transport).TLSClientConfig
		return rt
	}})
	u.Publish("https://"+l.Addr().String(), []byte("the body"), "Svc-Retries: 0")
	conn, err := l.Accept()
	expect.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(effort.Wait(time.Minute))) // a failure shows below
	buffer := make([]byte, 8<<10)
	n, err := conn.Read(buffer)
	if err != nil || !bytes.HasSuffix(buffer[:n], []byte("\r\n\r\nthe body")) {
		t.Errorf("first read: got %q, %v; want a whole request", buffer[:n], err)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") // a failure shows below
	u.Settle()
	if d := u.Deliveries(); len(d) != 1 || d[0].Response.Status != http.StatusOK {
		t.Errorf("deliveries: got %+v, want one with status 200", d)
	}
}
