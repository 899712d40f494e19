package origin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/response"
)

// LocalAddr reports whether an address of a connection, such as 127.0.0.1:5000,
// is on loopback. What cannot be parsed is not.
func LocalAddr(address string) bool {
	from, err := netip.ParseAddrPort(address)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// HostName is the name in a Host header: in lower case, without port, brackets
// and the dot of a full domain name.
func HostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host, _ = strings.CutSuffix(inner, "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// LocalHost reports whether a Host header names loopback. It keeps out web
// pages that reach loopback by a name of their own (DNS rebinding).
func LocalHost(host string) bool {
	name := HostName(host)
	address, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && address.Unmap().IsLoopback()
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

// RefuseCrossSite refuses what a web page of another site has sent. Browsers name the
// page in Origin or Referer; where they name none, Sec-Fetch-Site tells, on
// HTTPS and loopback. Clients that are no browser send none of these.
//
// Following a link to the page is no call: visit lets it pass without Origin.
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

// Allow lets pages of this machine read every answer, with all of its
// headers. Pages of other sites are left to the browser, which stops them.
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
