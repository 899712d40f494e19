package gate_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/understudy-mock/understudy/mockserver/gate"
)

func TestLocalHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.:80": true, "app.localhost": true, "127.0.0.1:8080": true, "127.9.9.9": true, "[::1]:80": true, "[::ffff:127.0.0.1]": true,
		"": false, "localhost.evil.test": false, "evil.test": false, "0.0.0.0": false, "10.0.0.1": false, "[::]": false,
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			if got := gate.LocalHost(host); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestCrossSite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header, value string
		visit, passes bool
	}{
		"not a browser":                         {"X-None", "", false, true},
		"a page of loopback":                    {"Origin", "http://localhost:3000", false, true},
		"a page of the server":                  {"Origin", "http://queue.test:8080", false, true},
		"another port of the server's name":     {"Origin", "http://queue.test:9090", false, false},
		"a page of another site":                {"Origin", "https://evil.test", false, false},
		"a page without origin":                 {"Origin", "null", false, false},
		"an origin with a user":                 {"Origin", "http://localhost@evil.test", false, false},
		"a page of another site, by Referer":    {"Referer", "https://evil.test/page", false, false},
		"a page of the server, by Referer":      {"Referer", "http://queue.test:8080/page", false, true},
		"another site, by Sec-Fetch-Site":       {"Sec-Fetch-Site", "cross-site", false, false},
		"the same origin, by Sec-Fetch-Site":    {"Sec-Fetch-Site", "same-origin", false, true},
		"a link from another site":              {"Referer", "https://evil.test/page", true, true},
		"a visit with the Origin of a bad page": {"Origin", "https://evil.test", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "http://queue.test:8080/", http.NoBody)
			r.Header.Set(c.header, c.value)
			if err := gate.RefuseCrossSite(r, c.visit); (err == nil) != c.passes {
				t.Errorf("got %v, want it to pass: %v", err, c.passes)
			}
		})
	}
}
