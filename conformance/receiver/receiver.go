// Package receiver is the destination of a target's deliveries: one listener for a
// run, with a path and a script of responses for each endpoint of each scenario.
//
//	r, err := receiver.New(ctx, cfg.Receiver, dialect)
//	e := r.Endpoint(run, scenario, "the destination", receiver.Reply{Status: 503})
//
// A target on the same host or network calls the listener directly. Others use a
// public URL, or a [Relay] on a public host, from which the suite fetches the calls.
//
// It makes no verdicts: it records deliveries and responds by the script.
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

// Limits of the receiver.
const (
	maxReceivedBody = 2 << 20 // bytes
	maxPerEndpoint  = 2000    // recorded deliveries
)

// Receiver is the listener of a run. Each endpoint of each scenario has a path and a
// script of responses. After the script, and after the scenario, it responds with
// 200, so that a target neither retries forever nor blocks the host.
type Receiver struct {
	Public  string // URL that targets receive
	dialect *spec.Dialect
	server  *http.Server
	serving sync.WaitGroup
	relay   *relayClient // nil unless the mode is relay

	mu        sync.Mutex
	endpoints map[string]*Endpoint // by nonce
	unknown   int                  // calls to unknown paths
}

// Reply is a response of an endpoint.
type Reply struct {
	Status int // 0 is 200
	Header http.Header
	Body   string
	Hold   <-chan struct{} // delays the response until it is closed
	Reset  bool            // breaks the connection instead of responding
}

// Endpoint is a destination of a scenario.
type Endpoint struct {
	Name, URL string
	dialect   *spec.Dialect
	Wake      func()                // called after each delivery; nil: none
	Guard     func(respond func())  // calls Respond; set by Receiver.Endpoint
	Respond   func(*Received) Reply // nil: the script
	Aside     bool                  // no step has to check its deliveries

	mu     sync.Mutex
	script []Reply
	always Reply // response after the script
	got    []*Received
	lost   int          // number of deliveries that were not recorded
	open   atomic.Int32 // number of deliveries that have no response yet
}

// Busy reports whether a delivery has no response yet: the target cannot know its outcome.
func (e *Endpoint) Busy() bool { return e.open.Load() > 0 }

// Received is one complete delivery.
type Received struct {
	Method, Path string      // rest of the path after the endpoint's URL, with query
	Header       http.Header // in neutral names
	Wire         http.Header // unchanged
	Body         []byte
	Status       atomic.Int64 // of the response
	At           time.Time
	Looked       atomic.Bool // a step has checked it
}

// New listens as the target file specifies. Headers of deliveries are converted to
// the neutral names of the dialect.
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
			_ = r.server.ServeTLS(l, cfg.TLS.Cert, cfg.TLS.Key) // the preflight shows whether it serves
		} else {
			_ = r.server.Serve(l) // returns when it is closed
		}
	})
	if cfg.Mode == "relay" {
		r.Public = strings.TrimRight(cfg.Relay.URL, "/")
		if r.relay, err = connect(ctx, cfg.Relay.URL, string(cfg.Relay.Token), r); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// Speak sets the dialect of deliveries to endpoints that are created from now on.
func (r *Receiver) Speak(d *spec.Dialect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialect = d
}

// Close stops the relay client and the listener, and waits for them.
func (r *Receiver) Close() {
	if r.relay != nil {
		r.relay.close()
	}
	_ = r.server.Close() // late deliveries fail
	r.serving.Wait()
}

// Endpoint creates a destination of a scenario.
func (r *Receiver) Endpoint(run, scenario, name string, script ...Reply) *Endpoint {
	nonce := strings.ToLower(rand.Text()[:12])
	return r.add(&Endpoint{Name: name, script: script, URL: fmt.Sprintf("%s/r/%s/%s/%s", r.Public, run, scenario, nonce)})
}

// Longer creates an endpoint whose URL starts with that of another one.
func (r *Receiver) Longer(e *Endpoint, name string) *Endpoint {
	return r.add(&Endpoint{Name: name, URL: e.URL + "2"})
}

// add registers an endpoint by the last segment of its URL.
func (r *Receiver) add(e *Endpoint) *Endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.dialect, e.Guard = r.dialect, func(respond func()) { respond() }
	r.endpoints[e.URL[strings.LastIndex(e.URL, "/")+1:]] = e
	return e
}

// ServeHTTP responds to /r/RUN/SCENARIO/NONCE and all paths below it.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	raw := q.URL.EscapedPath()
	parts := strings.SplitN(raw, "/", 6)
	if len(parts) < 5 || parts[1] != "r" {
		if raw == "/" {
			return // Reach checks the public URL
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
	e.open.Add(1)
	defer e.open.Add(-1)
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
	if answer.Reset || answer.Hold != nil && !e.hold(q.Context(), got, answer.Hold) {
		panic(http.ErrAbortHandler) // net/http breaks the connection
	}
	maps.Copy(w.Header(), e.dialect.BrandHeader(answer.Header))
	w.WriteHeader(int(got.Status.Load()))
	_, _ = w.Write([]byte(answer.Body)) // the target may have disconnected
}

// hold waits with the response, and reports whether the target still waits for it: it does not
// when it has disconnected, or has tried again, which shows this through a relay too.
func (e *Endpoint) hold(ctx context.Context, got *Received, until <-chan struct{}) bool {
	status := got.Status.Swap(0)
	select {
	case <-until:
	case <-ctx.Done():
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.got[len(e.got)-1] != got {
		return false
	}
	got.Status.Store(status)
	return true
}

// take records a delivery and selects the response.
func (e *Endpoint) take(got *Received) Reply {
	e.mu.Lock()
	answer := e.always
	if len(e.script) > 0 {
		answer, e.script = e.script[0], e.script[1:]
	}
	respond, guard, wake := e.Respond, e.Guard, e.Wake
	if len(e.got) < maxPerEndpoint {
		e.got = append(e.got, got)
	} else {
		e.lost++
	}
	e.mu.Unlock()
	if respond != nil {
		answer = Reply{Status: http.StatusInternalServerError, Body: "the suite failed"}
		guard(func() { answer = respond(got) })
	}
	if !answer.Reset { // a broken connection has no status
		got.Status.Store(int64(cmp.Or(answer.Status, http.StatusOK)))
	}
	if wake != nil {
		wake()
	}
	return answer
}

// Deliveries returns the deliveries so far.
func (e *Endpoint) Deliveries() []*Received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

// Look marks all deliveries so far as checked and returns them.
func (e *Endpoint) Look() []*Received {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, got := range e.got {
		got.Looked.Store(true)
	}
	return slices.Clone(e.got)
}

// Answer replaces the script. always is the response after it.
func (e *Endpoint) Answer(always Reply, script ...Reply) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.always, e.script = always, script
}

// End makes the endpoint respond with 200 from now on. It exists until the end of the run, so it
// forgets its deliveries and its functions, which refer to all that the scenario has read.
func (e *Endpoint) End() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.script, e.always, e.got = nil, Reply{}, nil
	e.Respond, e.Guard, e.Wake = nil, nil, nil
}

// Reach requests the public URL, as a target would.
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
