package delivery

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/listener"
	"github.com/understudy-mock/understudy/mockserver/origin"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// connections are those that deliveries are made over. Both ends of one to a
// listener of this server are in this process: by its addresses, the server
// tells a request of its own delivery from any other, whatever the name,
// rewrite or interface that led there.
type connections struct {
	mu   sync.Mutex
	open map[ends]bool
}

// ends are a connection's pair of addresses.
type ends struct{ client, server netip.AddrPort }

// connection is one of them.
type connection struct {
	net.Conn
	of   *connections
	ends ends
	own  bool // leads to a listener of this server
}

// Close closes the connection and forgets it.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.ends)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Made reports whether a delivery of this server made the request.
func (d *Deliverer) Made(r *http.Request) bool { return d.connections.made(r) }

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

// addressOf is a TCP address in the one form that compares; zero for others.
func addressOf(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return plainAddress(t.AddrPort())
}

// plainAddress leaves out what one end sees and the other does not.
func plainAddress(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// dial opens a connection for deliveries. The advertised address may be one that
// this machine does not know, such as that of a mapped port.
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

// listensAt reports whether an address is one of this server's listeners.
func (d *Deliverer) listensAt(a netip.AddrPort) bool {
	for _, l := range d.cfg.Own() {
		at := addressOf(l.Addr())
		if at.Port() == a.Port() && (at.Addr() == a.Addr() || at.Addr().IsUnspecified() && ofThisMachine(a.Addr())) {
			return true
		}
	}
	return false
}

// ofThisMachine reports whether an address belongs to one of its interfaces.
func ofThisMachine(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	list, _ := net.InterfaceAddrs() // without it, no address but loopback is known
	for _, one := range list {
		if n, ok := one.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a {
				return true
			}
		}
	}
	return false
}

// newTransport is what deliveries go through; once: each on a connection of its own.
func (d *Deliverer) newTransport(once bool) *http.Transport {
	return &http.Transport{
		DisableKeepAlives:   once,
		DialContext:         d.dial,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: engine.DefaultParallel,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true, // the answer is passed on as it came
	}
}

// exchange makes the request of a delivery. A kept connection may turn out to
// have been closed by the destination while it was idle. When it ends before the
// first byte of an answer, the request is made again, once, on a fresh
// connection. net/http repeats some methods only, not after the first part of a
// body, and on every kept connection in turn.
func (d *Deliverer) exchange(r *http.Request, hops int) (*http.Response, error) {
	response, again, err := d.try(d.trip, r, hops)
	if again {
		response, _, err = d.try(d.fresh, r, hops)
	}
	return response, err
}

// try makes the request once. again reports whether it failed in a way that a
// fresh connection may heal.
func (d *Deliverer) try(trip http.RoundTripper, r *http.Request, hops int) (response *http.Response, again bool, err error) {
	var reused, answered atomic.Bool
	traced := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) {
			reused.Store(c.Reused)
			markHops(r.Header, c.Conn, hops)
		},
		GotFirstResponseByte: func() { answered.Store(true) },
	}))
	if r.GetBody != nil { // the transport closes the body of each try
		traced.Body, _ = r.GetBody() // of bytes in memory: never fails
	}
	response, err = trip.RoundTrip(traced) // never follows a redirect
	return response, err != nil && reused.Load() && !answered.Load() && r.Context().Err() == nil, err
}

// underlyingConn is the connection under TLS.
func underlyingConn(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// advertises reports whether plain requests to a host are meant for the first
// listener of this server. Those of HTTPS go through whatever speaks it.
func (d *Deliverer) advertises(host string) bool {
	at := d.cfg.Advertise
	return at != nil && len(d.cfg.Own()) > 0 && at.Scheme == "http" && withPort(host) == withPort(at.Host)
}

// withPort is the host of a plain request with its port, in the one form that
// compares.
func withPort(host string) string {
	port := (&url.URL{Host: host}).Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(origin.HostName(host), port)
}

// markHops puts the count into the header of a delivery that is about to leave
// over a connection, if that leads to this server.
func markHops(h http.Header, conn net.Conn, hops int) {
	delete(h, wire.HopsHeader)
	if c, ok := underlyingConn(conn).(*connection); ok && c.own {
		h[wire.HopsHeader] = []string{strconv.Itoa(hops)}
	}
}
