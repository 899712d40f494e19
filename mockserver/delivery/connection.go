package delivery

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/mockserver/listener"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// connections are the open connections of deliveries, by their addresses. When one
// leads to a listener of this server, both ends are in this process: the server
// recognizes its own deliveries by the addresses of their connection, whatever host
// name, rewrite or interface led there.
type connections struct {
	mu   sync.Mutex
	open map[ends]bool
}

// ends are a connection's pair of addresses.
type ends struct{ client, server netip.AddrPort }

// connection is a connection of deliveries.
type connection struct {
	net.Conn
	of   *connections
	ends ends
	own  bool // leads to a listener of this server
}

// Close closes the connection and removes it from the open ones.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.ends)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// ByMember is the key in the context of a request that another server of the fleet made for a
// delivery.
type ByMember struct{}

// Made reports whether a delivery of this server, or of another one of its fleet, made the request.
func (d *Deliverer) Made(r *http.Request) bool {
	return r.Context().Value(ByMember{}) != nil || d.connections.made(r)
}

// made reports whether a delivery of this server made the request.
func (c *connections) made(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if local == nil || err != nil {
		return false // no connection that this process accepted
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[ends{plainAddress(client), addressOf(local)}]
}

// addressOf returns a TCP address in a form that can be compared; zero for others.
func addressOf(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return plainAddress(t.AddrPort())
}

// plainAddress removes the zone and the IPv6 form of IPv4, which only one end may have.
func plainAddress(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// dial opens a connection for deliveries. For the advertised address it connects to
// the listener: this machine may not be able to use that address, for example with a
// mapped port.
func (d *Deliverer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.advertises(address) {
		address = listener.Reachable(d.cfg.Own()[0].Addr())
	}
	conn, err := d.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, of: &d.connections, ends: ends{addressOf(conn.LocalAddr()), addressOf(conn.RemoteAddr())}}
	c.own = d.listensAt(c.ends.server)
	d.connections.mu.Lock()
	defer d.connections.mu.Unlock()
	d.connections.open[c.ends] = true
	return c, nil
}

// listensAt reports whether an address is that of a listener of this server.
func (d *Deliverer) listensAt(a netip.AddrPort) bool {
	for _, l := range d.cfg.Own() {
		at := addressOf(l.Addr())
		if at.Port() == a.Port() && (at.Addr() == a.Addr() || at.Addr().IsUnspecified() && ofThisMachine(a.Addr())) {
			return true
		}
	}
	return false
}

// ofThisMachine reports whether an address belongs to an interface of this machine.
func ofThisMachine(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	list, _ := net.InterfaceAddrs() // on an error, only loopback is known
	for _, one := range list {
		if n, ok := one.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a {
				return true
			}
		}
	}
	return false
}

// newTransport returns a transport for deliveries; once: a new connection for each.
func (d *Deliverer) newTransport(once bool) *http.Transport {
	t := &http.Transport{
		DisableKeepAlives:   once,
		DialContext:         d.dial,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: engine.DefaultParallel,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true, // the response is passed on unchanged
	}
	if d.cfg.Scheme == "https" {
		t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return d.dialTLS(ctx, t, network, address)
		}
	}
	return t
}

// dialTLS opens a connection over TLS. A certificate of this server is not verified,
// so that deliveries to it need neither its CA nor a name in the certificate.
func (d *Deliverer) dialTLS(ctx context.Context, t *http.Transport, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := t.TLSClientConfig.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address) // as the transport would
	}
	if c, ok := conn.(*connection); ok && c.own {
		config.InsecureSkipVerify = true // both ends are this process
	}
	ctx, cancel := context.WithTimeout(ctx, t.TLSHandshakeTimeout)
	defer cancel()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake has failed
		return nil, err
	}
	return secure, nil
}

// exchange sends the request of a delivery. The destination may have closed a kept
// connection while it was idle. If a kept connection ends before the first byte of
// a response, the request is repeated once, on a new connection. net/http repeats
// only some methods, not after it has sent part of a body, and on every kept
// connection in turn.
func (d *Deliverer) exchange(first *try, r *http.Request, body []byte) (*http.Response, error) {
	response, err := first.send(d.trip, r, body)
	if err != nil && first.mayHeal() {
		again := &try{hops: first.hops}
		return again.send(d.fresh, r.WithContext(again.traced(first.ctx)), body)
	}
	return response, err
}

// try is one request of a delivery, and what is known about its connection. The trace
// and the body are part of it, so that a try costs one allocation.
type try struct {
	ctx      context.Context // without the trace
	header   http.Header     // of the request
	hops     string          // the value of wire.HopsHeader
	reused   atomic.Bool
	answered atomic.Bool

	trace httptrace.ClientTrace
	body  bytes.Reader
}

// traced returns a context that reports the connection of a request to t.
func (t *try) traced(ctx context.Context) context.Context {
	t.ctx, t.trace = ctx, httptrace.ClientTrace{GotConn: t.gotConn, GotFirstResponseByte: t.gotFirstByte}
	return httptrace.WithClientTrace(ctx, &t.trace)
}

// send sends a request with a context of traced. Each try has its own reader of the
// body, because the transport closes it. The transport must recognize the reader as one
// of memory: it then writes headers and body to the connection at once.
func (t *try) send(trip http.RoundTripper, r *http.Request, body []byte) (*http.Response, error) {
	t.header = r.Header
	if r.Body = http.NoBody; len(body) > 0 {
		t.body.Reset(body)
		r.Body = io.NopCloser(&t.body)
	}
	return trip.RoundTrip(r) // never follows a redirect
}

func (t *try) gotConn(c httptrace.GotConnInfo) {
	t.reused.Store(c.Reused)
	markHops(t.header, c.Conn, t.hops)
}

func (t *try) gotFirstByte() { t.answered.Store(true) }

// mayHeal reports whether a failed request may succeed on a new connection.
func (t *try) mayHeal() bool {
	return t.reused.Load() && !t.answered.Load() && t.ctx.Err() == nil
}

// underlyingConn is the connection under TLS.
func underlyingConn(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// advertises reports whether a host is the advertised address of the first listener
// of this server. It is false if the schemes differ: when a server without TLS
// advertises HTTPS, requests must go through the proxy that speaks it.
func (d *Deliverer) advertises(host string) bool {
	at, scheme := d.cfg.Advertise, d.cfg.Scheme
	return at != nil && len(d.cfg.Own()) > 0 && at.Scheme == scheme && withPort(scheme, host) == withPort(scheme, at.Host)
}

// withPort returns the host of a request with its port, in a form that can be compared.
func withPort(scheme, host string) string {
	port := (&url.URL{Host: host}).Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return net.JoinHostPort(gate.HostName(host), port)
}

// markHops sets the number of hops, and the family, in the header of a delivery, if its connection
// leads to this server.
func markHops(h http.Header, conn net.Conn, hops string) {
	delete(h, wire.HopsHeader)
	if c, ok := underlyingConn(conn).(*connection); ok && c.own {
		h[wire.HopsHeader] = []string{hops}
	}
}
