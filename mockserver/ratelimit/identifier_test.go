package ratelimit

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestWhoAsks(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for name, c := range map[string]struct {
		source, remote string
		trusted        []netip.Prefix
		header         http.Header
		want           string
	}{
		"the address without the port":              {"ip", "192.0.2.1:5000", nil, nil, "192.0.2.1"},
		"an IPv6 address":                           {"ip", "[2001:db8::1]:5000", nil, nil, "2001:db8::1"},
		"an IPv4 address in IPv6":                   {"ip", "[::ffff:192.0.2.1]:5000", nil, nil, "192.0.2.1"},
		"X-Forwarded-For without trusted proxies":   {"ip", "192.0.2.1:1", nil, http.Header{"X-Forwarded-For": {"1.1.1.1"}}, "192.0.2.1"},
		"X-Forwarded-For of an untrusted client":    {"ip", "192.0.2.1:1", proxies, http.Header{"X-Forwarded-For": {"1.1.1.1"}}, "192.0.2.1"},
		"X-Forwarded-For of a trusted proxy":        {"ip", "10.0.0.1:1", proxies, http.Header{"X-Forwarded-For": {"198.51.100.7"}}, "198.51.100.7"},
		"entries before the last trusted proxy":     {"ip", "10.0.0.1:1", proxies, http.Header{"X-Forwarded-For": {"1.1.1.1, 198.51.100.7, 10.0.0.2"}}, "198.51.100.7"},
		"several X-Forwarded-For lines":             {"ip", "10.0.0.1:1", proxies, http.Header{"X-Forwarded-For": {"1.1.1.1", "198.51.100.7:443"}}, "198.51.100.7"},
		"an invalid entry ends the chain":           {"ip", "10.0.0.1:1", proxies, http.Header{"X-Forwarded-For": {"1.1.1.1, what, 10.0.0.2"}}, "10.0.0.2"},
		"only trusted proxies":                      {"ip", "[::1]:1", proxies, http.Header{"X-Forwarded-For": {"10.0.0.3"}}, "10.0.0.3"},
		"no address":                                {"ip", "@", proxies, nil, "@"},
		"a header name in another case":             {"header.authorization", "", nil, http.Header{"Authorization": {"Bearer x"}}, "Bearer x"},
		"a header with a dot in its name":           {"header.X.User", "", nil, http.Header{"X.user": {"me"}}, "me"},
		"the Host header":                           {"header.Host", "", nil, nil, "example.com"},
		"a header value that is too long for a key": {"header.X-User", "", nil, http.Header{"X-User": {strings.Repeat("x", 513)}}, "sha256-35ade0090e64e74d6ad04204009c23a4e34b82bdf0f4f317fbcc5f26f9b10241"},
		"the first of several header values":        {"header.X-User", "", nil, http.Header{"X-User": {"a", "b"}}, "a"},
		"a missing header":                          {"header.X-User", "", nil, nil, "error: header X-User is missing: it says whose requests these are, and must not be empty"},
		"an empty header":                           {"header.X-User", "", nil, http.Header{"X-User": {" "}}, "error: header X-User is missing: it says whose requests these are, and must not be empty"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = c.remote
		for name, values := range c.header {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
		got, err := newSource(c.source, c.trusted).of(r)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestSecretsStayOutOfLogs(t *testing.T) {
	t.Parallel()
	for source, secret := range map[string]bool{"ip": false, "header.X-User": false, "header.Authorization": true, "header.X-Api-Key": true} {
		if got := newSource(source, nil).logged("value"); (got != "value") != secret {
			t.Errorf("%s is logged as %q", source, got)
		}
	}
}
