package mockserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/natstest"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/fleet"
)

// testTLS is what a server of a test speaks TLS with, for 127.0.0.1 and
// example.com.
func testTLS(t *testing.T) *tls.Config {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	return s.TLS
}

// trusted is a transport that trusts the certificate of a configuration.
func trusted(t *testing.T, config *tls.Config) *http.Transport {
	t.Helper()
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	expect.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func TestTLS(t *testing.T) {
	t.Parallel()
	config := testTLS(t)
	u := mockserver.RunT(t, mockserver.Config{TLS: config, RegionAddr: "127.0.0.1:0"})
	c := newClient(t, u)
	c.http.Transport = trusted(t, config)
	t.Run("every address is https", func(t *testing.T) {
		for _, address := range []string{u.URL(), u.RegionURL(), u.ManagementURL(), u.VectorURL(), u.KVURL(), u.ListensAt()} {
			expect.True(t, address, strings.HasPrefix(address, "https://127.0.0.1:"))
		}
	})
	t.Run("a listener of its own speaks TLS as well", func(t *testing.T) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.RegionURL()+"/_understudy/livez", http.NoBody)
		expect.NoError(t, err)
		answer, err := c.http.Do(r)
		expect.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		expect.Equal(t, "status", answer.StatusCode, http.StatusOK)
		expect.Equal(t, "protocol that a client of HTTP/2 gets", answer.Proto, "HTTP/1.1")
	})
	t.Run("deliveries to the server itself need no trust", func(t *testing.T) {
		for _, host := range []string{"127.0.0.1", "localhost"} { // the certificate does not hold the second
			c.do("POST", "/v2/publish/"+strings.Replace(u.URL(), "127.0.0.1", host, 1)+"/_understudy/sink/status/200", "x", "Svc-Retries: 0").ok()
		}
		u.Settle()
		for _, d := range u.Deliveries() {
			expect.Equal(t, "status of the delivery to "+d.URL+" "+d.Error, d.Response.Status, http.StatusOK)
		}
	})
	t.Run("a delivery to the server itself is known by its connection", func(t *testing.T) {
		before := len(u.Deliveries())
		u.Publish(u.URL()+"/_understudy/reset", nil, "Svc-Retries: 0")
		for _, d := range u.Deliveries()[before:] {
			expect.Equal(t, "status", d.Response.Status, http.StatusForbidden)
			expect.Contains(t, "body", string(d.Response.Body), "call the control API directly")
		}
	})
	t.Run("deliveries to others are verified", func(t *testing.T) {
		app := httptest.NewUnstartedServer(http.NotFoundHandler())
		app.Config.ErrorLog = log.New(io.Discard, "", 0)
		app.StartTLS()
		defer app.Close()
		u.Publish(app.URL, nil, "Svc-Retries: 0")
		u.Settle()
		list := u.Deliveries()
		expect.Contains(t, "error", list[len(list)-1].Error, "TLS handshake failed: ")
	})
	t.Run("a body and an answer of many parts", func(t *testing.T) {
		u.Stub("https://app.test/*", 200)
		c.do("POST", "/v2/publish/https://app.test/", strings.Repeat("x", 300<<10)).ok()
		u.Settle()
		expect.True(t, "an answer that holds the body", len(c.do("GET", "/_understudy/deliveries", "").ok().raw) > 300<<10)
	})
}

// The log names those that cannot connect.
func TestTLSRefusals(t *testing.T) {
	t.Parallel()
	config, book := testTLS(t), &logBook{}
	u := mockserver.RunT(t, mockserver.Config{TLS: config, Log: slog.New(slog.NewJSONHandler(&book.text, nil))})
	c := newClient(t, u)
	c.http.Transport = trusted(t, config)
	t.Run("plain HTTP gets an answer that says so, and is logged once for a client", func(t *testing.T) {
		for range 2 {
			answer, err := http.Get(strings.Replace(u.URL(), "https:", "http:", 1)) //nolint:noctx // of a test
			expect.NoError(t, err)
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			expect.Equal(t, "status", answer.StatusCode, http.StatusBadRequest)
			expect.Contains(t, "answer", string(text), "Client sent an HTTP request to an HTTPS server")
		}
		book.want(t, "a client speaks plain HTTP to this port", map[string]any{"level": "WARN"})
	})
	t.Run("a client that does not trust the certificate is logged", func(t *testing.T) {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(u.URL(), "https://"), &tls.Config{ServerName: "localhost"})
		if err == nil {
			_ = conn.Close()
			t.Fatal("the handshake succeeded")
		}
		for len(book.lines(t, "a client ended the TLS handshake")) == 0 && t.Context().Err() == nil {
			c.do("GET", "/_understudy/livez", "") // the alert is on its way
		}
		book.want(t, "a client ended the TLS handshake: it must trust the certificate", map[string]any{"level": "WARN", "reason": "tls: bad certificate"})
	})
}

// An advertised name is that of the first listener when it has its protocol.
func TestTLSAdvertised(t *testing.T) {
	t.Parallel()
	at, err := mockserver.ParseAdvertise("https://understudy.test")
	expect.NoError(t, err)
	t.Run("deliveries reach it, and may when they stay on loopback", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Advertise: at, TLS: testTLS(t), Outbound: "loopback-only"})
		expect.Equal(t, "URL", u.URL(), "https://understudy.test")
		for _, address := range []string{"https://understudy.test", "https://understudy.test:443"} {
			u.Publish(address+"/_understudy/sink/status/200", nil, "Svc-Retries: 0")
		}
		u.Settle()
		for _, d := range u.Deliveries() {
			expect.Equal(t, "status of the delivery to "+d.URL+" "+d.Error, d.Response.Status, http.StatusOK)
		}
	})
	t.Run("http is refused", func(t *testing.T) {
		t.Parallel()
		plain, err := mockserver.ParseAdvertise("http://understudy.test")
		expect.NoError(t, err)
		_, err = mockserver.New(mockserver.Config{Advertise: plain, TLS: testTLS(t)})
		if err == nil {
			t.Fatal("it is accepted")
		}
		expect.Equal(t, "error", err.Error(), `advertise: invalid value "http://understudy.test": must be https, because the listeners speak TLS`)
	})
}

// A handshake has the time of a head.
func TestASlowHandshakeEnds(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Paced(mockserver.Config{TLS: testTLS(t)}, time.Second, time.Second))
	conn := dialed(t, u).(*tls.Conn).NetConn()
	write(t, conn, "\x16\x03\x01")
	closed(t, conn)
}

// Members of a fleet forward requests over TLS, with the CA that they trust.
func TestTLSOfAFleet(t *testing.T) {
	t.Parallel()
	cluster, config := natstest.Run(t), testTLS(t)
	transport := trusted(t, config)
	secure := func(cfg *mockserver.Config) {
		cfg.TLS, cfg.Accounts = config, []mockserver.Account{{ID: "shop", Token: "shop-token"}}
		expect.Nil(t, "error of Trust", cfg.Fleet.(*fleet.Fleet).Trust(transport.TLSClientConfig.RootCAs, nil))
	}
	for _, name := range []string{"first", "second"} { // one of them owns the account
		m := joined(t, cluster, name, secure)
		t.Run(name+" answers", func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.URL()+"/v2/queues", http.NoBody)
			expect.NoError(t, err)
			r.Header.Set("Authorization", "Bearer shop-token")
			answer, err := transport.RoundTrip(r)
			expect.NoError(t, err)
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			expect.Equal(t, "status of "+string(text), answer.StatusCode, http.StatusOK)
		})
	}
}
