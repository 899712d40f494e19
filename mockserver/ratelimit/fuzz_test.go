package ratelimit

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func FuzzIdentifier(f *testing.F) {
	for _, seed := range []string{"1.2.3.4", "1.2.3.4, 5.6.7.8", "for=x", "[::1]:80", "::ffff:1.2.3.4", "fe80::1%eth0", ",,,", "\x00", strings.Repeat("9", 5000)} {
		f.Add("ip", seed, "10.0.0.1:1")
		f.Add("header.X-User", seed, seed)
	}
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, text, header, remote string) {
		s := newSource(text, trusted)
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = remote
		r.Header["X-Forwarded-For"], r.Header["X-User"] = []string{header}, []string{header}
		who, err := s.of(r)
		if err == nil && len(who) > 4096 {
			t.Errorf("%q, %q: an identifier of %d bytes", text, header, len(who))
		}
		_ = s.logged(who)
	})
}

// FuzzNumbers reads any answer of a store: it must not panic, nor return both numbers and an error.
func FuzzNumbers(f *testing.F) {
	for _, seed := range []string{`{"result":[1,2]}`, `{"result":["1","x"]}`, `{"error":"no"}`, `[]`, `{"result":[1e300]}`, `{"result":null}`, "\xff"} {
		f.Add(200, []byte(seed))
		f.Add(500, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, status int, text []byte) {
		numbers, err := readNumbers(status, text)
		if err != nil && numbers != nil {
			t.Errorf("%q: numbers and an error: %v, %v", text, numbers, err)
		}
	})
}
