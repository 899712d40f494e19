package mockserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// localAddr reports whether an address of a connection, such as 127.0.0.1:5000,
// is on loopback. What cannot be parsed is not.
func localAddr(address string) bool {
	from, err := netip.ParseAddrPort(address)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// hostName is the name in a Host header: in lower case, without port, brackets
// and the dot of a full domain name.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host, _ = strings.CutSuffix(inner, "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// localHost reports whether a Host header names loopback. It keeps out web
// pages that reach loopback by a name of their own (DNS rebinding).
func localHost(host string) bool {
	name := hostName(host)
	address, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && address.Unmap().IsLoopback()
}

// hostNames are the names, beside those of loopback, under which clients on this
// machine reach a server: that of the machine, those of its listeners, and the
// advertised one.
func hostNames(cfg *Config) []string {
	var names []string
	if name, err := os.Hostname(); err == nil {
		names = append(names, hostName(name))
	}
	for _, address := range []string{cfg.Addr, cfg.RegionAddr, cfg.ManagementAddr, cfg.VectorAddr} {
		names = append(names, hostName(address))
	}
	if cfg.Advertise != nil {
		names = append(names, hostName(cfg.Advertise.Host))
	}
	return names
}

// knownHost reports whether no page of another site can be behind a Host
// header on loopback. Names below internal, such as host.docker.internal, are
// reserved: no public name server answers for them.
func (s *Server) knownHost(host string) bool {
	name := hostName(host)
	_, err := netip.ParseAddr(name)
	return host == "" || err == nil || localHost(host) || strings.HasSuffix(name, ".internal") || slices.Contains(s.hostNames, name)
}

// welcomeOrigin reports whether an Origin header names a page of loopback or of
// the server itself.
func welcomeOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	port := u.Port()
	if number, err := strconv.Atoi(port); usual == "" || u.Hostname() == "" || port != "" && (err != nil || number > 65535) {
		return false
	}
	if localHost(u.Host) {
		return true
	}
	at := u.Host
	if port == "" {
		at = net.JoinHostPort(u.Hostname(), usual)
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(hostName(host), usual)
	}
	_, wanted, _ := net.SplitHostPort(at)
	_, given, _ := net.SplitHostPort(host)
	return hostName(at) == hostName(host) && wanted == given
}

// crossSite refuses what a web page of another site has sent. Browsers name the
// page in Origin or Referer; where they name none, Sec-Fetch-Site tells, on
// HTTPS and loopback. Clients that are no browser send none of these.
func crossSite(c *call) error {
	h := c.request.Header
	for _, origin := range h.Values("Origin") {
		if !welcomeOrigin(origin, c.request.Host) {
			return response.Forbidden("header Origin: invalid value " + strconv.Quote(response.Shorten(origin)) + ": must be an origin on loopback or that of the server; a page of another site must not call this")
		}
	}
	if len(h.Values("Origin")) > 0 || c.visit() {
		return nil
	}
	if from := h.Get("Referer"); from != "" {
		if u, err := url.Parse(from); err != nil || !welcomeOrigin(u.Scheme+"://"+u.Host, c.request.Host) {
			return response.Forbidden("header Referer: must be a page on loopback or of the server; a page of another site must not call this")
		}
		return nil
	}
	if from := h.Get("Sec-Fetch-Site"); from != "" && from != "none" && from != "same-origin" {
		return response.Forbidden("header Sec-Fetch-Site: invalid value " + strconv.Quote(response.Shorten(from)) + ": must be none or same-origin; a page of another site must not call this")
	}
	return nil
}

// visit reports whether somebody follows a link to the page.
func (c *call) visit() bool {
	mode := c.header.Get("Sec-Fetch-Mode")
	return c.op.Method == http.MethodGet && c.op.Tag == "page" && (mode == "" || mode == "navigate")
}

// admitPublic guards an account whose token everybody knows: any web page could
// send it.
func (s *Server) admitPublic(c *call) error {
	if localAddr(c.request.RemoteAddr) && !s.knownHost(c.request.Host) {
		return response.Forbidden("header Host: invalid value " + strconv.Quote(response.Shorten(c.request.Host)) + ": must be a name of this machine, such as localhost, with a public token; --account gives the account a token of its own")
	}
	return crossSite(c)
}

// publicToken reports whether a token is known to everybody, or can be made by
// everybody: a development token, one that is derived from the account's id, or
// any token where each opens an account.
func (s *Server) publicToken(a Account) bool {
	return s.cfg.AnyAccount || spec.DevelopmentToken(a.Token) || a.Token == derivedSecret(a.ID, "token")
}

// admitSink lets in what may try a destination out: programs on this machine,
// deliveries of this server, and who holds a token.
func (s *Server) admitSink(c *call) error {
	if c.op.Tag != "sink" || localAddr(c.request.RemoteAddr) || s.delivery.connections.made(c.request) || s.mayControl(c) || s.byToken(bearerToken(c.header)) != nil {
		return nil
	}
	return response.Unauthorized("Bearer", c.op.ID+": off loopback, a sink is open to deliveries of this server, and to others with Authorization: Bearer and a token of an account")
}
