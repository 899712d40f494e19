package mockserver

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/spec/mask"
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
	return nil, fmt.Errorf("invalid value %q: must be the address that clients use, such as http://understudy:8080: http or https, a host, and nothing else", mask.Text(text))
}

// url is the address of a listener as clients write it. An advertised host
// replaces the host of every listener; a separate listener keeps its own port.
func (s *Server) url(i int) string {
	if i >= len(s.listeners) {
		return ""
	}
	at, l := s.cfg.Advertise, s.listeners[i]
	switch {
	case at == nil:
		return s.cfg.scheme() + "://" + Reachable(l.Addr())
	case l == s.listeners[0]:
		return at.String()
	}
	_, port, _ := net.SplitHostPort(l.Addr().String()) // listeners have one
	return at.Scheme + "://" + net.JoinHostPort(at.Hostname(), port)
}

// ListensAt is the URL of the messaging API for programs on this machine;
// Config.Advertise does not change it.
func (s *Server) ListensAt() string {
	return s.cfg.scheme() + "://" + Reachable(s.listeners[0].Addr())
}

// scheme is the URL scheme of the listeners.
func (c *Config) scheme() string {
	if c.TLS != nil {
		return "https"
	}
	return "http"
}

// EveryInterface reports whether the messaging API listens on all network
// interfaces, so that other machines reach it at addresses that URL does not
// show.
func (s *Server) EveryInterface() bool {
	tcp, ok := s.listeners[0].Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsUnspecified()
}
