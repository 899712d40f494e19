package gate

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/response"
)

// LocalAddr reports whether the address of a connection, such as 127.0.0.1:5000,
// is on loopback. It is false for an address that cannot be parsed.
func LocalAddr(address string) bool {
	from, err := netip.ParseAddrPort(address)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// Proxy returns the name of the first header by which a proxy says that it passes a
// request on; "" without one. The client may be anywhere, whatever the address of the
// connection is.
func Proxy(h http.Header) string {
	var found []string
	for name := range h {
		if slices.Contains(proxyHeaders, name) || strings.HasPrefix(name, "X-Forwarded-") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return strings.Join(found[:min(len(found), 1)], "")
}

// proxyHeaders are the canonical names of headers of proxies, besides X-Forwarded-*.
var proxyHeaders = []string{"Forwarded", "Via", "X-Real-Ip"}

// HostName is the name in a Host header: in lower case, without port, brackets
// and the trailing dot of a fully qualified name.
func HostName(host string) string {
	if name, ok := cutPort(host); ok {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host, _ = strings.CutSuffix(inner, "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// cutPort removes the port of a host. The usual case is a host without a port,
// for which SplitHostPort would allocate an error.
func cutPort(host string) (name string, ok bool) {
	if !strings.Contains(host, ":") {
		return host, true
	}
	name, _, err := net.SplitHostPort(host)
	return name, err == nil
}

// LocalHost reports whether a Host header names loopback. It is false for the
// host of a web page that resolves to loopback (DNS rebinding).
func LocalHost(host string) bool {
	name := HostName(host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
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
	if LocalHost(u.Host) {
		return true
	}
	at := u.Host
	if port == "" {
		at = net.JoinHostPort(u.Hostname(), usual)
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(HostName(host), usual)
	}
	_, wanted, _ := net.SplitHostPort(at)
	_, given, _ := net.SplitHostPort(host)
	return HostName(at) == HostName(host) && wanted == given
}

// RefuseCrossSite refuses requests of web pages of other sites. Browsers name the
// page in Origin or Referer; without these, Sec-Fetch-Site says whether it has the
// same origin, on HTTPS and loopback. Other clients send none of these headers.
//
// visit is set for requests that open a page: a link from another site has no
// Origin, and passes.
func RefuseCrossSite(r *http.Request, visit bool) error {
	h := r.Header
	for _, origin := range h.Values("Origin") {
		if !welcomeOrigin(origin, r.Host) {
			return response.Forbidden("header Origin: invalid value " + strconv.Quote(response.Shorten(origin)) + ": must be an origin on loopback or that of the server; a page of another site must not call this")
		}
	}
	if len(h.Values("Origin")) > 0 || visit {
		return nil
	}
	if from := h.Get("Referer"); from != "" {
		if u, err := url.Parse(from); err != nil || !welcomeOrigin(u.Scheme+"://"+u.Host, r.Host) {
			return response.Forbidden("header Referer: must be a page on loopback or of the server; a page of another site must not call this")
		}
		return nil
	}
	if from := h.Get("Sec-Fetch-Site"); from != "" && from != "none" && from != "same-origin" {
		return response.Forbidden("header Sec-Fetch-Site: invalid value " + strconv.Quote(response.Shorten(from)) + ": must be none or same-origin; a page of another site must not call this")
	}
	return nil
}

// Loopback reports whether an Origin header names a page of this machine,
// such as http://localhost:3000.
func Loopback(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && LocalHost(u.Host)
}

// Allow sets the CORS headers that let pages of this machine read a response and
// all its headers. Pages of other sites get none, so the browser stops them.
func Allow(h http.Header, r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	h.Add("Vary", "Origin")
	if Loopback(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "*")
	}
}
