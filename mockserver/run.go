package mockserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

// TestServer is a stand-in for one test. Its methods fail the test instead of
// returning errors.
type TestServer struct {
	*Server
	t TB
}

// TB is the part of testing.TB that a TestServer uses; *testing.T implements
// it. The package does not import testing, so that programs that embed the
// server do not link it.
type TB interface {
	Helper()
	Cleanup(do func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// testLimit is the real time after which a method of TestServer fails the test.
const testLimit = 30 * time.Second

// RunT starts a stand-in for one test, on a free port and with a manual clock
// unless cfg names another. t.Cleanup closes it, and fails the test if an
// answer of the stand-in violated the OpenAPI document.
func RunT(t TB, cfg ...Config) *TestServer {
	t.Helper()
	c := Config{}
	if len(cfg) > 0 {
		c = cfg[0]
	}
	if c.Clock == "" {
		c.Clock = "manual"
	}
	s, err := Run(c)
	if err != nil {
		t.Fatalf("understudy: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("understudy: close: %v", err)
		}
		for _, v := range s.Violations() {
			t.Errorf("understudy: answer breaks the document: %s", v)
		}
	})
	return &TestServer{Server: s, t: t}
}

// Advance moves the clock of the default account, and returns when all
// deliveries that become due have ended.
func (u *TestServer) Advance(d time.Duration) {
	u.t.Helper()
	a := u.tenants.First().Account
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	if _, err := a.Advance(ctx, a.Now().Add(d)); err != nil {
		u.t.Fatalf("understudy: advance %s: %v", d, err)
	}
}

// Settle waits until no attempt of the default account is ready or in flight.
func (u *TestServer) Settle() {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	if err := u.tenants.First().Account.Settle(ctx); err != nil {
		u.t.Fatalf("understudy: settle: %v", err)
	}
}

// Deliveries waits until nothing is in flight, and returns all attempts so far,
// oldest first.
func (u *TestServer) Deliveries() []Delivery {
	u.t.Helper()
	u.Settle()
	list, _ := u.tenants.First().Deliveries.List(0, traffic.Filter{})
	return list
}

// Requests are all requests to the interface so far, oldest first.
func (u *TestServer) Requests() []Exchange {
	list, _ := u.tenants.First().Requests.List(0, traffic.Filter{})
	return list
}

// Outside is a service that the application under test calls, such as payments.
type Outside struct {
	u    *TestServer
	name string
}

// Outside returns an outside service. The name has letters, digits, - and _.
func (u *TestServer) Outside(name string) Outside { return Outside{u, name} }

// URL is the address of the service, for example for PAYMENTS_URL.
func (o Outside) URL() string { return o.u.ListensAt() + stub.OutsidePath + o.name }

// Calls are the calls of the application so far, oldest first.
func (o Outside) Calls() []Exchange {
	list, _ := o.u.tenants.First().Requests.List(0, traffic.Filter{URL: stub.OutsidePath + o.name + "/"})
	return list
}

// Answer makes the service answer a path, in which * matches any text; the last answer repeats.
func (o Outside) Answer(path string, answers ...Answer) {
	o.u.t.Helper()
	o.u.Script(Stub{URL: stub.OutsidePattern(o.name, path), Answers: answers})
}

// Stub makes a URL, in which * matches any text, answer with the statuses in
// order; the last one repeats.
func (u *TestServer) Stub(url string, statuses ...int) {
	u.t.Helper()
	script := Stub{URL: url}
	for _, status := range statuses {
		script.Answers = append(script.Answers, Answer{Status: StubStatus(fmt.Sprint(status))})
	}
	u.Script(script)
}

// Script adds a stub with complete answers. It takes precedence over the stubs
// that exist.
func (u *TestServer) Script(script Stub) {
	u.t.Helper()
	first := u.tenants.First()
	err := first.Stubs.Add(script)
	if err == nil {
		err = u.tenants.Keep(context.Background(), first)
	}
	if err != nil {
		u.t.Fatalf("understudy: %v", err)
	}
}

// Publish publishes over HTTP, as a client does, with headers in the form
// "Name: value", and returns the message id.
func (u *TestServer) Publish(destination string, body []byte, header ...string) string {
	u.t.Helper()
	h := http.Header{"Authorization": {"Bearer " + u.Token()}}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ":")
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	id, err := postPublish(localClient(u.Server), u.ListensAt()+"/v2/publish/"+destination, h, body)
	if err != nil {
		u.t.Fatalf("understudy: publish to %s: %v", destination, err)
	}
	return id
}

// Message returns the engine's record of a message that has not ended; for an
// unknown id, or after the end, it fails the test.
func (u *TestServer) Message(id string) engine.Message {
	u.t.Helper()
	m, err := u.tenants.First().Account.Message(id)
	if err != nil {
		u.t.Fatalf("understudy: %v", err)
	}
	return m
}

// localClient sends requests of a process to its own server. It does not verify
// the certificate, which the same process presents.
func localClient(s *Server) *http.Client {
	if s.cfg.TLS == nil {
		return http.DefaultClient
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}
}

// postPublish publishes and returns the message id.
func postPublish(client *http.Client, url string, h http.Header, body []byte) (string, error) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header = h
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var receipt struct{ MessageID, Error string }
	if err := json.Unmarshal(answer, &receipt); err != nil || receipt.MessageID == "" {
		return "", fmt.Errorf("%s: %s", response.Status, answer)
	}
	return receipt.MessageID, nil
}
