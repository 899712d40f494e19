package gate

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// admitControl admits calls with the control token. Calls of programs on this machine
// do not need it, unless a token is configured and Config.ControlOpenOnLoopback is not
// set. It sets the account that the call acts on.
func (g *Gate) admitControl(c *request.Call) error {
	if closed := g.controlClosed(c); len(c.Op.Security) > 0 && closed != "" {
		return unauthorizedFor(c.Op, closed+": callers must send Authorization: Bearer with the token of --control-token")
	}
	if err := g.admitSink(c); err != nil {
		return err
	}
	if len(c.Op.Security) > 0 {
		if err := RefuseCrossSite(c.Request, isVisit(c)); err != nil {
			return err
		}
	}
	id := c.Query.Get("account")
	if id == "" || id == "*" {
		c.Tenant = g.Accounts.First()
	} else if c.Tenant = g.Accounts.ByID(id); c.Tenant == nil {
		return refusal.Of(refusal.NotFound, "account", id, "not found")
	}
	c.Account = c.Tenant.Account
	return nil
}

// controlClosed returns why a call may not use the control API; "" when it may.
func (g *Gate) controlClosed(c *request.Call) string {
	if g.hasControlToken(c) {
		return ""
	}
	proxy := Proxy(c.Request.Header)
	switch {
	case g.NeedsToken:
		return "the control API of this server needs a token"
	case !LocalAddr(c.Request.RemoteAddr) || !LocalHost(c.Request.Host):
		return "the control API is open on loopback only"
	case proxy != "":
		return "the control API is open on loopback only, and header " + proxy + " says that a proxy passed the request on"
	}
	return ""
}

// hasControlToken reports whether a call carries the control token.
func (g *Gate) hasControlToken(c *request.Call) bool {
	kind, token, _ := strings.Cut(c.Header.Get("Authorization"), " ")
	if _, password, ok := c.Request.BasicAuth(); ok { // browsers prompt for Basic credentials
		kind, token = "Bearer", password
	}
	return kind == "Bearer" && g.ControlToken != "" && tenant.SameSecret(token, g.ControlToken)
}

// knownHost reports whether a Host header rules out DNS rebinding, where a page
// of another site makes its name resolve to loopback. Names below internal,
// such as host.docker.internal, are reserved: no public name server answers for
// them.
func (g *Gate) knownHost(host string) bool {
	if host == "" || LocalHost(host) {
		return true
	}
	name := HostName(host)
	_, err := netip.ParseAddr(name)
	return err == nil || strings.HasSuffix(name, ".internal") || slices.Contains(g.HostNames, name)
}

// isVisit reports whether a browser navigates to the page, as opposed to a
// script that fetches it.
func isVisit(c *request.Call) bool {
	mode := c.Header.Get("Sec-Fetch-Mode")
	return c.Op.Method == http.MethodGet && c.Op.Tag == "page" && (mode == "" || mode == "navigate")
}

// admitPublic guards an account whose token is published: any web page could
// send it. A page whose name resolves to loopback can add the headers of proxies,
// so these prove nothing here.
func (g *Gate) admitPublic(c *request.Call) error {
	if LocalAddr(c.Request.RemoteAddr) && !g.knownHost(c.Request.Host) {
		return response.Forbidden("header Host: invalid value " + strconv.Quote(response.Shorten(c.Request.Host)) + ": must be a name of this machine, such as localhost, with a public token; --account gives the account a token of its own")
	}
	return RefuseCrossSite(c.Request, isVisit(c))
}

// admitSink admits requests to the built-in destinations from programs on this
// machine, from deliveries of this server, and with the token of an account.
func (g *Gate) admitSink(c *request.Call) error {
	local := LocalAddr(c.Request.RemoteAddr) && Proxy(c.Request.Header) == ""
	if c.Op.Tag != "sink" || local || g.Made(c.Request) || g.hasControlToken(c) || g.Accounts.Owner(request.BearerToken(c.Header)) != nil {
		return nil
	}
	return response.Unauthorized("Bearer", c.Op.ID+": off loopback, a sink is open to deliveries of this server, and to others with Authorization: Bearer and a token of an account")
}
