package mockserver

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ParseAdvertise reads the address under which clients reach a server that
// listens in a container or behind a proxy, such as http://understudy:8080.
func ParseAdvertise(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err == nil {
		host, port := u.Hostname(), u.Port()
		number, wrong := strconv.Atoi(port)
		address, _ := netip.ParseAddr(host) // the zero value for names
		if (u.Scheme == "http" || u.Scheme == "https") && host != "" && !address.IsUnspecified() && *u == (url.URL{Scheme: u.Scheme, Host: u.Host}) &&
			!strings.HasSuffix(u.Host, ":") && (port == "" || wrong == nil && 0 < number && number < 1<<16) {
			return u, nil
		}
	}
	return nil, fmt.Errorf("invalid value %q: must be the address that clients use, such as http://understudy:8080: http or https, a host, and nothing behind the port", text)
}

// url is the address of a listener as clients write it. A listener of its own
// has the advertised name with its own port.
func (s *Server) url(i int) string {
	if i >= len(s.listeners) {
		return ""
	}
	at, l := s.cfg.Advertise, s.listeners[i]
	switch {
	case at == nil:
		return "http://" + Reachable(l.Addr())
	case l == s.listeners[0]:
		return at.String()
	}
	_, port, _ := net.SplitHostPort(l.Addr().String()) // listeners have one
	return at.Scheme + "://" + net.JoinHostPort(at.Hostname(), port)
}

// ListensAt is the messaging API as programs on this machine reach it, whatever
// is advertised.
func (s *Server) ListensAt() string { return "http://" + Reachable(s.listeners[0].Addr()) }

// EveryInterface reports whether other machines can reach the messaging API at
// all addresses of this one, not only at that of URL.
func (s *Server) EveryInterface() bool {
	tcp, ok := s.listeners[0].Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsUnspecified()
}
