package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/conformance/proxy"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// synced is a buffer for several goroutines.
type synced struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *synced) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// behind starts a proxy in front of a handler.
func behind(t *testing.T, upstream http.Handler, change func(*proxy.Config)) (p *proxy.Proxy, address string) {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	expect.NoError(t, err)
	cfg := proxy.Config{Upstream: target, Record: true, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	if p, err = proxy.New(cfg); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	return p, front.URL
}

func ask(t *testing.T, method, address, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	expect.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	expect.NoError(t, err)
	return response.StatusCode, string(text)
}

func TestProxyReportsViolations(t *testing.T) {
	t.Parallel()
	bad := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"messages": "none"}`))
	})
	p, address := behind(t, bad, nil)
	for range 3 {
		status, body := ask(t, "GET", address+"/v2/workflows/dlq?count=0&svc_token=secret-token", "secret-token", "")
		if status != http.StatusOK || body != `{"messages": "none"}` {
			t.Errorf("the answer was changed: %d %s", status, body)
		}
	}
	ask(t, "GET", address+"/v2/nothing", "", "") // the document does not exclude other paths
	var lines bytes.Buffer
	expect.NoError(t, p.WriteReport(&lines))
	var f proxy.Finding
	if err := json.Unmarshal(lines.Bytes(), &f); err != nil { // a single line: all are of one kind
		t.Fatalf("%v:\n%s", err, lines.String())
	}
	expect.Equal(t, "requirement", f.Requirement, "REQ-DLQ-001")
	expect.Equal(t, "basis", f.Basis, spec.Stated)
	expect.Equal(t, "count", f.Count, 3)
	expect.Equal(t, "pointer", f.Pointer, "/messages")
	expect.Equal(t, "status of the first exchange", f.First.Status, http.StatusOK)
	expect.True(t, "a quote that is not empty", f.Quote != "")
	expect.Equal(t, "heading", f.Heading, "List DLQ entries of workflow runs")
	var text bytes.Buffer
	expect.NoError(t, p.WriteRecording(&text))
	var recording proxy.Recording
	err := yaml.Unmarshal(text.Bytes(), &recording)
	expect.Nil(t, "reading the recording", err)
	if expect.Equal(t, "number of stubs", len(recording.Stubs), 1) {
		if expect.Equal(t, "number of requests", len(recording.Requests), 3) {
			expect.Equal(t, "operation of the first request", recording.Requests[0].Operation, "listWorkflowDLQ")
		}
	}
	if strings.Contains(text.String()+lines.String(), "secret-token") {
		t.Errorf("a secret is not masked:\n%s\n%s", text.String(), lines.String())
	}
	// The stubs have the form that the stand-in accepts, and replay the upstream.
	u := mockserver.RunT(t)
	stub := recording.Stubs[0]
	u.Script(mockserver.Stub{Method: stub.Method, URL: stub.URL, Answers: []mockserver.Answer{{Status: mockserver.StubStatus(fmt.Sprint(stub.Answers[0].Status)), Body: stub.Answers[0].Body}}})
	u.Publish(url.PathEscape(stub.URL), nil, "Svc-Method: "+stub.Method)
	if got := u.Deliveries()[0].Response; got.Status != http.StatusOK || string(got.Body) != `{"messages": "none"}` {
		t.Errorf("played: %d %s", got.Status, got.Body)
	}
	if got := p.Summary(); !strings.HasSuffix(got, "\n4 requests, 3 violations of the document of 1 kinds") || !p.Failed() {
		t.Errorf("summary: %s", got)
	}
}

// TestProxyShowsNoCredential checks the report, the recording and the log.
func TestProxyShowsNoCredential(t *testing.T) {
	t.Parallel()
	const planted = "PLANTED0123456789"
	log := &synced{}
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "a="+planted)
		w.Header().Set("Location", "https://u:"+planted+"@e.test/")
		_, _ = fmt.Fprintf(w, `{"messages": %q, "header": {"X-Api-Key": [%q]}, "url": %q}`, r.Header.Get("Svc-Forward-Authorization"), planted, "https://u:"+planted+"@e.test/?_token="+planted)
	})
	p, address := behind(t, echo, func(c *proxy.Config) {
		c.Upstream.User = url.UserPassword("u", planted)
		c.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	with := "https://u:" + planted + "@e.test/?access_token=" + planted
	for _, x := range []struct{ method, path, body string }{
		{"GET", "/v2/workflows/dlq?count=0&svc%5Ftoken=" + planted, ""},
		{"POST", "/v2/publish/" + with, "Bearer " + planted},
		{"POST", "/v2/publish/" + url.QueryEscape(with), "x"},
		{"POST", "/v2/batch", `[{"destination":"` + with + `","headers":{"Svc-Forward-X-Api-Key":"` + planted + `","Svc-Retries":"many","cookie":["` + planted + `"]}}]`},
		{"POST", "/v2/batch", `[{"destination":"` + with + `","headers":{"X-Api-Key":"` + planted + `"`},
		{"GET", "/v2/unknown/" + with, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), x.method, address+x.path, strings.NewReader(x.body))
		expect.NoError(t, err)
		r.Header = http.Header{"Authorization": {"Bearer " + planted}, "X-Api-Key": {planted}, "Svc-Forward-Authorization": {"Bearer " + planted}, "Svc-Callback": {with}, "Cookie": {planted}, "Svc-Retries": {"many"}}
		response, err := http.DefaultClient.Do(r)
		expect.NoError(t, err)
		_ = response.Body.Close()
	}
	var recording bytes.Buffer
	expect.NoError(t, p.WriteRecording(&recording))
	var lines bytes.Buffer
	expect.NoError(t, p.WriteReport(&lines))
	for name, text := range map[string]string{"the report": lines.String(), "the recording": recording.String(), "the log": log.String()} {
		if at := strings.Index(text, planted); at >= 0 || len(text) < 200 {
			t.Errorf("%s of %d bytes has the credential: ...%s", name, len(text), text[max(0, at-300):min(len(text), at+30)])
		}
	}
}

func TestProxyWithoutUpstream(t *testing.T) {
	t.Parallel()
	_, address := behind(t, http.NotFoundHandler(), func(c *proxy.Config) { c.Upstream = &url.URL{Scheme: "http", Host: "127.0.0.1:1"} })
	if status, body := ask(t, "GET", address+"/v2/workflows/dlq", "t", ""); status != http.StatusBadGateway || !strings.Contains(body, "upstream 127.0.0.1:1") {
		t.Errorf("%d %s", status, body)
	}
}
