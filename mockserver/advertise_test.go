package mockserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestParseAdvertise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://understudy:8080":     "http://understudy:8080",
		"https://queue.example.com/": "https://queue.example.com",
		"http://[2001:db8::1]:8080":  "http://[2001:db8::1]:8080",
		"":                           "",
		"understudy:8080":            "",
		"//understudy:8080":          "",
		"ftp://understudy":           "",
		"http://":                    "",
		"http://:8080":               "",
		"http://a:":                  "",
		"http://a:0":                 "",
		"http://a:65536":             "",
		"http://a:http":              "",
		"http://a/b":                 "",
		"http://a?b":                 "",
		"http://a?":                  "",
		"http://a#b":                 "",
		"http://u:hidden@a":          "",
		"http://0.0.0.0:8080":        "",
		"http://[::]:8080":           "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			u, err := mockserver.ParseAdvertise(text)
			if want == "" {
				if err == nil {
					t.Fatalf("got %s, want an error", u)
				}
				if strings.Contains(err.Error(), "hidden") {
					t.Errorf("the error shows the password: %v", err)
				}
				return
			}
			expect.Nil(expect.Now(t), "error", err)
			expect.Equal(t, "URL", u.String(), want)
		})
	}
}

// A public token works under the advertised name, which no name server of
// somebody else can have given to this machine.
func TestAdvertisedHost(t *testing.T) {
	t.Parallel()
	at, err := mockserver.ParseAdvertise("http://understudy.test:8080")
	expect.NoError(t, err)
	for name, cfg := range map[string]mockserver.Config{
		"advertised":     {Advertise: at},
		"not advertised": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, cfg)
			local := u.ListensAt()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, local+"/v2/queues", http.NoBody)
			expect.NoError(t, err)
			r.Host = "understudy.test:8080"
			r.Header.Set("Authorization", "Bearer "+u.Token())
			answer, err := http.DefaultClient.Do(r)
			expect.NoError(t, err)
			defer func() { _ = answer.Body.Close() }()
			expect.Equal(t, "status", answer.StatusCode, map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[cfg.Advertise != nil])
		})
	}
	t.Run("deliveries that stay on loopback reach it", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Advertise: at, Outbound: "loopback-only"})
		u.Publish("http://understudy.test:8080/_understudy/sink/status/200", nil)
		u.Settle()
		list := u.Deliveries()
		if expect.Equal(t, "number of deliveries", len(list), 1) {
			expect.Equal(t, "status of the delivery", list[0].Response.Status, http.StatusOK)
		}
	})
}
