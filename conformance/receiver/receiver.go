// Package receiver is where a target delivers to: one listener for a whole run,
// on which each endpoint of each scenario has a path and a script of answers.
//
//	r, err := receiver.New(ctx, cfg.Receiver, dialect)
//	e := r.Endpoint(run, scenario, "the destination", receiver.Reply{Status: 503})
//
// A target on the same host or network calls the listener; another one comes
// through a public URL, a tunnel (a command that prints its URL), or a [Relay] on
// a public host, which the suite asks for calls.
//
// It judges nothing: it keeps what arrives and answers by the script.
package receiver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// What the receiver takes at most.
const (
	maxReceivedBody = 2 << 20 // bytes
	maxPerEndpoint  = 2000    // deliveries that are kept
)

// Receiver is the one listener of a run. Each endpoint of each scenario has a
// path of its own below it, and a script of answers; when the script has ended,
// and when the scenario is over, it answers 200, so that a target neither
// retries for ever nor black-lists the host.
type Receiver struct {
	Public  string // what targets are told
	dialect *spec.Dialect
	server  *http.Server
	serving sync.WaitGroup
	tunnel  *tunnel      // nil unless the mode is tunnel
	relay   *relayClient // nil unless the mode is relay

	mu        sync.Mutex
	endpoints map[string]*Endpoint // by nonce
	unknown   int                  // calls to paths that nobody has
}

// Reply is what an endpoint answers.
type Reply struct {
	Status int // 0 is 200
	Header http.Header
	Body   string
	Hold   <-chan struct{} // answers once it is closed
	Reset  bool            // breaks the connection instead
}

// Endpoint is a destination of a scenario.
type Endpoint struct {
	Name, URL string
	dialect   *spec.Dialect
	Wake      func()                // called when a delivery has come; nil: nobody waits
	Respond   func(*Received) Reply // nil: the script
	Aside     bool                  // what comes here is judged by what the target says of it

	mu     sync.Mutex
	script []Reply
	always *Reply // after the script; nil: 200
	got    []*Received
	lost   int // beyond what is kept
	over   bool
}

// Received is one delivery, whole.
type Received struct {
	Method, Path string      // what followed the endpoint's url, with query
	Header       http.Header // in neutral names
	Wire         http.Header // as it came
	Body         []byte
	Status       atomic.Int64 // answered
	At           time.Time
	Looked       atomic.Bool // a step has judged it
}

// New listens as the target file wants it. What arrives gets the neutral
// names of the dialect.
func New(ctx context.Context, cfg target.Receiver, d *spec.Dialect) (*Receiver, error) {
	addr := cfg.Listen
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("receiver: cannot listen on %s: %w", addr, err)
	}
	r := &Receiver{Public: strings.TrimRight(cfg.PublicURL, "/"), dialect: d, endpoints: map[string]*Endpoint{}}
	if r.Public == "" {
		scheme := "http"
		if cfg.TLS.Cert != "" {
			scheme = "https"
		}
		r.Public = scheme + "://" + l.Addr().String()
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 20}
	r.serving.Go(func() {
		if cfg.TLS.Cert != "" {
			_ = r.server.ServeTLS(l, cfg.TLS.Cert, cfg.TLS.Key) // whether it serves, the preflight tells
		} else {
			_ = r.server.Serve(l) // until it is closed
		}
	})
	if cfg.Mode == "tunnel" {
		port := l.Addr().(*net.TCPAddr).Port
		if r.tunnel, r.Public, err = startTunnel(ctx, cfg.Tunnel.Command, cfg.Tunnel.URLPattern, port); err != nil {
			r.Close()
			return nil, err
		}
	}
	if cfg.Mode == "relay" {
		r.Public = strings.TrimRight(cfg.Relay.URL, "/")
		if r.relay, err = connect(ctx, cfg.Relay.URL, string(cfg.Relay.Token), r); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// Speak changes the dialect whose names are made neutral, for endpoints that are
// made from now on.
func (r *Receiver) Speak(d *spec.Dialect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialect = d
}

// Close ends the tunnel and the listener, and waits for them.
func (r *Receiver) Close() {
	if r.tunnel != nil {
		r.tunnel.stop()
	}
	if r.relay != nil {
		r.relay.close()
	}
	_ = r.server.Close() // what is still coming is late
	r.serving.Wait()
}

// Endpoint makes a destination of a scenario of a run.
func (r *Receiver) Endpoint(run, scenario, name string, script ...Reply) *Endpoint {
	nonce := strings.ToLower(rand.Text()[:12])
	return r.add(&Endpoint{Name: name, script: script, URL: fmt.Sprintf("%s/r/%s/%s/%s", r.Public, run, scenario, nonce)})
}

// Longer makes an endpoint whose URL begins with that of another one.
func (r *Receiver) Longer(e *Endpoint, name string) *Endpoint {
	return r.add(&Endpoint{Name: name, URL: e.URL + "2"})
}

// add serves an endpoint by the last segment of its URL.
func (r *Receiver) add(e *Endpoint) *Endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.dialect = r.dialect
	r.endpoints[e.URL[strings.LastIndex(e.URL, "/")+1:]] = e
	return e
}

// ServeHTTP answers /r/RUN/SCENARIO/NONCE and all below it.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	raw := q.URL.EscapedPath()
	parts := strings.SplitN(raw, "/", 6)
	if len(parts) < 5 || parts[1] != "r" {
		if raw == "/" {
			return // the preflight's look at the public address
		}
		http.NotFound(w, q)
		return
	}
	r.mu.Lock()
	e := r.endpoints[parts[4]]
	if e == nil {
		r.unknown++
	}
	r.mu.Unlock()
	if e == nil {
		http.NotFound(w, q)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxReceivedBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	path := ""
	if len(parts) == 6 {
		path = "/" + parts[5]
	}
	if q.URL.RawQuery != "" {
		path += "?" + q.URL.RawQuery
	}
	header := e.dialect.NeutralHeader(q.Header.Clone())
	header.Set("Host", q.Host)
	got := &Received{Method: q.Method, Path: path, Header: header, Wire: q.Header, Body: body, At: now()}
	answer := e.take(got)
	if answer.Hold != nil {
		select {
		case <-answer.Hold:
		case <-q.Context().Done():
		}
	}
	if answer.Reset {
		panic(http.ErrAbortHandler) // net/http breaks the connection
	}
	maps.Copy(w.Header(), e.dialect.BrandHeader(answer.Header))
	w.WriteHeader(int(got.Status.Load()))
	_, _ = w.Write([]byte(answer.Body)) // the target may have gone
}

// take keeps a delivery and chooses the answer.
func (e *Endpoint) take(got *Received) Reply {
	e.mu.Lock()
	answer := Reply{}
	switch {
	case e.over:
	case len(e.script) > 0:
		answer, e.script = e.script[0], e.script[1:]
	case e.always != nil:
		answer = *e.always
	}
	respond := e.Respond
	if e.over {
		respond = nil
	}
	if len(e.got) < maxPerEndpoint {
		e.got = append(e.got, got)
	} else {
		e.lost++
	}
	e.mu.Unlock()
	if respond != nil {
		answer = respond(got)
	}
	if !answer.Reset { // what breaks is not answered
		got.Status.Store(int64(cmp.Or(answer.Status, http.StatusOK)))
	}
	if e.Wake != nil {
		e.Wake()
	}
	return answer
}

// Deliveries are what has come so far.
func (e *Endpoint) Deliveries() []*Received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

// Look marks all that has come as judged, and gives it.
func (e *Endpoint) Look() []*Received {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, got := range e.got {
		got.Looked.Store(true)
	}
	return slices.Clone(e.got)
}

// Answer sets the script.
func (e *Endpoint) Answer(always *Reply, script ...Reply) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.always, e.script = always, script
}

// End makes the endpoint answer 200 from now on.
func (e *Endpoint) End() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}

// Tunneled reports whether a tunnel stands before the receiver: it may name its
// URL before it works.
func (r *Receiver) Tunneled() bool { return r.tunnel != nil }

// Reach asks for the receiver's public address, as a target would.
func (r *Receiver) Reach(ctx context.Context, c *http.Client) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Public+"/", nil)
	if err != nil {
		return err
	}
	response, err := c.Do(q)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
