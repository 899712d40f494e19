package main

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// alerting is a TLS server that answers plain HTTP with a TLS alert, as OpenSSL does. Servers
// of net/http answer with status 400.
func alerting(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = conn.Write([]byte("\x15\x03\x01\x00\x02\x02\x46"))
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return "http://" + l.Addr().String()
}

// silentTLS closes a connection that does not begin with a TLS handshake, as
// OpenSSL, Node.js and Python do.
type silentTLS struct{ net.Listener }

func (l silentTLS) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &silentConn{Conn: conn}, err
}

type silentConn struct {
	net.Conn
	begun bool
}

func (c *silentConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.begun && n > 0 && p[0] != 0x16 {
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	}
	c.begun = true
	return n, err
}

// Each command reports that a URL has the wrong scheme for its port.
func TestWrongSchemeIsNamed(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	closing := httptest.NewUnstartedServer(http.NotFoundHandler())
	closing.Listener = silentTLS{closing.Listener}
	closing.StartTLS()
	t.Cleanup(closing.Close)
	binary := build(t)
	const usePlain, useTLS = "speaks plain HTTP, not TLS: use http:// in place of https://", "speaks TLS, not plain HTTP: use https:// in place of http://"
	for name, at := range map[string]struct{ url, want string }{
		"https to a plain port":               {strings.Replace(plain.URL, "http:", "https:", 1), usePlain},
		"http to a TLS port":                  {strings.Replace(secure.URL, "https:", "http:", 1), useTLS},
		"http to a TLS port that sends alert": {alerting(t), useTLS},
		"http to a TLS port that only closes": {strings.Replace(closing.URL, "https:", "http:", 1), useTLS},
	} {
		target := filepath.Join(t.TempDir(), "target.yaml")
		text := "apiVersion: conformance/v1\ntarget: {name: x, urls: {base: '" + at.url + "'}, auth: {bearer: tttt}}\n"
		expect.NoError(t, os.WriteFile(target, []byte(text), 0o600))
		for _, args := range [][]string{{"ctl", "--url", at.url, "health"}, {"env", "--url", at.url}, {"why", "--url", at.url, "msg_1"}, {"conform", "--target", target}} {
			t.Run(name+", "+args[0], func(t *testing.T) {
				t.Parallel()
				c := exec.CommandContext(t.Context(), binary, args...)
				var errs bytes.Buffer
				c.Stderr = &errs
				_ = c.Run() // the exit code is checked below
				if code := c.ProcessState.ExitCode(); code != command.ExitUnreachable || !strings.Contains(errs.String(), at.want) {
					t.Errorf("exit code %d, %q; want 3 and %q", code, errs.String(), at.want)
				}
			})
		}
	}
}
