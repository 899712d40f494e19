package mockserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// TestMain fails if goroutines are left, except one that nats.go leaks when a connection ends right
// after its first publish.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// client talks to a stand-in as the clients of the service do.
type client struct {
	t     testing.TB
	url   string
	token string
	http  *http.Client
}

// newClient has connections of its own, closed with the test.
func newClient(t testing.TB, u *mockserver.TestServer) *client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, url: u.URL(), token: u.Token(), http: &http.Client{Transport: transport}}
}

// published is the dialect of a fresh server.
var published = spec.BuiltInDialects().Named(spec.Published)

// answer is a response, with its body as JSON where it is.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	raw    []byte
	json   any
}

// do sends a request with "Name: value" headers. A header without value takes
// the usual one away.
func (c *client) do(method, path, body string, headers ...string) answer {
	c.t.Helper()
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	expect.NoError(c.t, err)
	r.Header.Set("Authorization", "Bearer "+c.token)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); value == "" {
			r.Header.Del(name)
		} else {
			r.Header[http.CanonicalHeaderKey(name)] = append(r.Header[http.CanonicalHeaderKey(name)], value)
		}
		if http.CanonicalHeaderKey(name) == "Authorization" && value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := c.http.Do(r)
	expect.NoError(c.t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	expect.NoError(c.t, err)
	a := answer{t: c.t, status: response.StatusCode, header: response.Header, raw: raw}
	if len(bytes.TrimSpace(raw)) > 0 {
		_ = json.Unmarshal(raw, &a.json) // what is not JSON shows as nil
	}
	return a
}

// ok fails the test unless the status is one of success.
func (a answer) ok() answer {
	a.t.Helper()
	if a.status < 200 || a.status > 299 {
		a.t.Fatalf("status %d: %s", a.status, a.raw)
	}
	return a
}

// refused fails the test unless the answer is an error in one line that holds
// all of the texts.
func (a answer) refused(status int, texts ...string) {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.raw)
	}
	line := a.text("error")
	if line == "" || strings.Contains(line, "\n") {
		a.t.Fatalf("no error in one line: %q", a.raw)
	}
	for _, text := range texts {
		if !strings.Contains(line, text) {
			a.t.Errorf("error %q does not name %q", line, text)
		}
	}
}

// get walks into the JSON: names of members and indexes.
func (a answer) get(path ...any) any {
	a.t.Helper()
	v := a.json
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				a.t.Fatalf("no entry %d in %s", step, a.raw)
			}
			v = l[step]
		}
	}
	return v
}

func (a answer) text(path ...any) string {
	s, _ := a.get(path...).(string)
	return s
}

func (a answer) number(path ...any) int64 {
	n, _ := a.get(path...).(float64)
	return int64(n)
}

func (a answer) list(path ...any) []any {
	l, _ := a.get(path...).([]any)
	return l
}
