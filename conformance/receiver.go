package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What the receiver takes at most.
const (
	maxReceivedBody = 2 << 20 // bytes
	maxPerEndpoint  = 2000    // deliveries that are kept
)

// receiver is the one listener of a run. Each endpoint of each scenario has a
// path of its own below it, and a script of answers; when the script has ended,
// and when the scenario is over, it answers 200, so that a target neither
// retries for ever nor black-lists the host.
type receiver struct {
	public  string // what targets are told
	server  *http.Server
	serving sync.WaitGroup
	tunnel  *tunnel      // nil unless the mode is tunnel
	relay   *relayClient // nil unless the mode is relay

	mu        sync.Mutex
	endpoints map[string]*endpoint // by nonce
	unknown   int                  // calls to paths that nobody has
}

// reply is what an endpoint answers.
type reply struct {
	Status int // 0 is 200
	Header http.Header
	Body   string
	Hold   <-chan struct{} // answers once it is closed
	Reset  bool            // breaks the connection instead
}

// endpoint is a destination of a scenario.
type endpoint struct {
	name, url string
	scenario  *scenario
	respond   func(*received) reply // nil: the script
	aside     bool                  // what comes here is judged by what the target says of it

	mu     sync.Mutex
	script []reply
	always *reply // after the script; nil: 200
	got    []*received
	lost   int // beyond what is kept
	over   bool
}

// received is one delivery, whole.
type received struct {
	method, path string // what followed the endpoint's url, with query
	header       http.Header
	body         []byte
	status       atomic.Int64 // answered
	at           time.Time
	looked       atomic.Bool // a step has judged it
}

// newReceiver listens as the target file wants it.
func newReceiver(ctx context.Context, cfg ReceiverConfig) (*receiver, error) {
	addr := cfg.Listen
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("receiver: cannot listen on %s: %w", addr, err)
	}
	r := &receiver{public: strings.TrimRight(cfg.PublicURL, "/"), endpoints: map[string]*endpoint{}}
	if r.public == "" {
		scheme := "http"
		if cfg.TLS.Cert != "" {
			scheme = "https"
		}
		r.public = scheme + "://" + l.Addr().String()
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
		if r.tunnel, r.public, err = dig(ctx, cfg.Tunnel.Command, cfg.Tunnel.URLPattern, port); err != nil {
			r.close()
			return nil, err
		}
	}
	if cfg.Mode == "relay" {
		r.public = strings.TrimRight(cfg.Relay.URL, "/")
		if r.relay, err = connect(ctx, cfg.Relay.URL, string(cfg.Relay.Token), r); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// close ends the tunnel and the listener, and waits for them.
func (r *receiver) close() {
	if r.tunnel != nil {
		r.tunnel.fill()
	}
	if r.relay != nil {
		r.relay.close()
	}
	_ = r.server.Close() // what is still coming is late
	r.serving.Wait()
}

// endpoint makes a destination for a scenario.
func (r *receiver) endpoint(s *scenario, name string, script ...reply) *endpoint {
	nonce := strings.ToLower(rand.Text()[:12])
	e := &endpoint{name: name, scenario: s, script: script, url: fmt.Sprintf("%s/r/%s/%s/%s", r.public, s.suite.id, s.key, nonce)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endpoints[nonce] = e
	return e
}

// ServeHTTP answers /r/RUN/SCENARIO/NONCE and all below it.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
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
	body, err := readAll(http.MaxBytesReader(w, q.Body, maxReceivedBody))
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
	header := e.scenario.suite.dialect.NeutralHeader(q.Header.Clone())
	header.Set("Host", q.Host)
	got := &received{method: q.Method, path: path, header: header, body: body, at: now()}
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
	maps.Copy(w.Header(), e.scenario.suite.dialect.BrandHeader(answer.Header))
	w.WriteHeader(int(got.status.Load()))
	_, _ = w.Write([]byte(answer.Body)) // the target may have gone
}

// take keeps a delivery and chooses the answer.
func (e *endpoint) take(got *received) reply {
	e.mu.Lock()
	answer := reply{}
	switch {
	case e.over:
	case len(e.script) > 0:
		answer, e.script = e.script[0], e.script[1:]
	case e.always != nil:
		answer = *e.always
	}
	respond := e.respond
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
	got.status.Store(int64(cmp.Or(answer.Status, http.StatusOK)))
	e.scenario.wake()
	return answer
}

// deliveries are what has come so far.
func (e *endpoint) deliveries() []*received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

// answer sets the script.
func (e *endpoint) answer(always *reply, script ...reply) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.always, e.script = always, script
}

// end makes the endpoint answer 200 from now on.
func (e *endpoint) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}

// reach asks for the receiver's public address, as a target would.
func (r *receiver) reach(ctx context.Context, c *http.Client) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.public+"/", nil)
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
