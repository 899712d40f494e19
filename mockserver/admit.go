package mockserver

import (
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/origin"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// admitControl lets loopback in; others need the control token. It finds the
// account that the call acts on.
func (s *Server) admitControl(c *call) error {
	if len(c.op.Security) > 0 && !s.mayControl(c) {
		return unauthorizedFor(c.op, "the control API is open on loopback only; elsewhere it takes Authorization: Bearer with the token of --control-token")
	}
	if err := s.admitSink(c); err != nil {
		return err
	}
	if len(c.op.Security) > 0 {
		if err := origin.RefuseCrossSite(c.request, c.visit()); err != nil {
			return err
		}
	}
	id := c.query.Get("account")
	if id == "" || id == "*" {
		c.tenant = s.first()
	} else if c.tenant = s.byID(id); c.tenant == nil {
		return refusal.Of(refusal.NotFound, "account", id, "not found")
	}
	c.account = c.tenant.account
	return nil
}

func (s *Server) mayControl(c *call) bool {
	kind, token, _ := strings.Cut(c.header.Get("Authorization"), " ")
	if _, password, ok := c.request.BasicAuth(); ok { // what a browser asks its user for
		kind, token = "Bearer", password
	}
	if kind == "Bearer" && s.cfg.ControlToken != "" && sameSecret(token, s.cfg.ControlToken) {
		return true
	}
	return origin.LocalAddr(c.request.RemoteAddr) && origin.LocalHost(c.request.Host)
}

// hostNames are the names, beside those of loopback, under which clients on this
// machine reach a server: that of the machine, those of its listeners, and the
// advertised one.
func hostNames(cfg *Config) []string {
	var names []string
	if name, err := os.Hostname(); err == nil {
		names = append(names, origin.HostName(name))
	}
	for _, address := range []string{cfg.Addr, cfg.RegionAddr, cfg.ManagementAddr, cfg.VectorAddr} {
		names = append(names, origin.HostName(address))
	}
	if cfg.Advertise != nil {
		names = append(names, origin.HostName(cfg.Advertise.Host))
	}
	return names
}

// knownHost reports whether no page of another site can be behind a Host
// header on loopback. Names below internal, such as host.docker.internal, are
// reserved: no public name server answers for them.
func (s *Server) knownHost(host string) bool {
	name := origin.HostName(host)
	_, err := netip.ParseAddr(name)
	return host == "" || err == nil || origin.LocalHost(host) || strings.HasSuffix(name, ".internal") || slices.Contains(s.hostNames, name)
}

// visit reports whether somebody follows a link to the page.
func (c *call) visit() bool {
	mode := c.header.Get("Sec-Fetch-Mode")
	return c.op.Method == http.MethodGet && c.op.Tag == "page" && (mode == "" || mode == "navigate")
}

// admitPublic guards an account whose token everybody knows: any web page could
// send it.
func (s *Server) admitPublic(c *call) error {
	if origin.LocalAddr(c.request.RemoteAddr) && !s.knownHost(c.request.Host) {
		return response.Forbidden("header Host: invalid value " + strconv.Quote(response.Shorten(c.request.Host)) + ": must be a name of this machine, such as localhost, with a public token; --account gives the account a token of its own")
	}
	return origin.RefuseCrossSite(c.request, c.visit())
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
	if c.op.Tag != "sink" || origin.LocalAddr(c.request.RemoteAddr) || s.delivery.connections.made(c.request) || s.mayControl(c) || s.byToken(bearerToken(c.header)) != nil {
		return nil
	}
	return response.Unauthorized("Bearer", c.op.ID+": off loopback, a sink is open to deliveries of this server, and to others with Authorization: Bearer and a token of an account")
}
