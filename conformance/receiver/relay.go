package receiver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/internal/recorder"
)

// Relay runs on a public host for suites that targets cannot reach. It queues the
// calls of targets until the suite fetches them, and returns the suite's responses.
// It is an http.Handler and safe for concurrent use.
type Relay struct {
	Token string // bearer token of the suite

	mu      sync.Mutex
	waiting map[string]*relayed
	calls   chan *relayed
	once    sync.Once
}

// relayPath is the prefix of the suite's requests. Every other path is a call of a target.
const relayPath = "/_relay/"

// Limits of a relay, in real time: how long a suite's request for a call stays open,
// and how long a target waits for the response.
const (
	relayPoll   = 20 * time.Second
	relayAnswer = 30 * time.Second
)

// relayed is a call of a target in the relay.
type relayed struct {
	ID     string              `json:"id"`
	Method string              `json:"method"`
	URI    string              `json:"uri"`
	Host   string              `json:"host"`
	Header map[string][]string `json:"header"`
	Body   []byte              `json:"body"`

	answered chan relayAnswerBody
}

type relayAnswerBody struct {
	Status int                 `json:"status"` // 0: break the connection
	Header map[string][]string `json:"header"`
	Body   []byte              `json:"body"`
}

func (r *Relay) start() {
	r.once.Do(func() { r.waiting, r.calls = map[string]*relayed{}, make(chan *relayed, 1024) })
}

// ServeHTTP serves targets and the suite.
func (r *Relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.start()
	rest, asks := strings.CutPrefix(q.URL.Path, relayPath)
	if !asks {
		r.take(w, q)
		return
	}
	if subtle.ConstantTimeCompare([]byte(q.Header.Get("Authorization")), []byte("Bearer "+r.Token)) != 1 {
		http.Error(w, `{"error":"relay: wrong token"}`, http.StatusUnauthorized)
		return
	}
	if id, ok := strings.CutPrefix(rest, "answer/"); ok {
		r.answer(w, q, id)
		return
	}
	ctx, cancel := context.WithTimeout(q.Context(), relayPoll)
	defer cancel()
	select {
	case c := <-r.calls:
		_ = json.NewEncoder(w).Encode(c) // if the suite disconnects, the call is lost and the target retries
	case <-ctx.Done():
		w.WriteHeader(http.StatusNoContent)
	}
}

// take queues the call of a target and waits for the suite's response.
func (r *Relay) take(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path == "/" {
		return // Reach checks the public URL
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxReceivedBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	c := &relayed{ID: strings.ToLower(rand.Text()), Method: q.Method, URI: q.URL.RequestURI(), Host: q.Host, Header: q.Header, Body: body, answered: make(chan relayAnswerBody, 1)}
	r.mu.Lock()
	r.waiting[c.ID] = c
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, c.ID)
	}()
	ctx, cancel := context.WithTimeout(q.Context(), relayAnswer)
	defer cancel()
	select {
	case r.calls <- c:
	default:
		http.Error(w, "relay: too many calls wait for the suite", http.StatusServiceUnavailable)
		return
	}
	select {
	case a := <-c.answered:
		if a.Status == 0 {
			panic(http.ErrAbortHandler) // net/http breaks the connection
		}
		maps.Copy(w.Header(), a.Header)
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body) // the target may have disconnected
	case <-ctx.Done():
		http.Error(w, "relay: the suite did not answer", http.StatusGatewayTimeout)
	}
}

func (r *Relay) answer(w http.ResponseWriter, q *http.Request, id string) {
	var a relayAnswerBody
	if err := json.NewDecoder(q.Body).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	c := r.waiting[id]
	r.mu.Unlock()
	if c == nil {
		http.NotFound(w, q)
		return
	}
	c.answered <- a
}

// relayClient fetches calls from a relay and responds with a handler.
type relayClient struct {
	address string
	token   string
	http    *http.Client
	handler http.Handler
	stop    context.CancelFunc
	asking  sync.WaitGroup
}

// relayAskers is how many requests for calls are open at a time.
const relayAskers = 16

// connect first sends a probe, so that a wrong address or token is reported at once,
// and then starts to fetch calls.
func connect(ctx context.Context, url, token string, handler http.Handler) (*relayClient, error) {
	c := &relayClient{address: strings.TrimRight(url, "/"), token: token, http: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: relayAskers}}, handler: handler}
	ctx, c.stop = context.WithCancel(ctx)
	probe, err := c.send(ctx, "answer/none", []byte("{}"))
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("relay %s: %w", c.address, err)
	}
	_ = probe.Body.Close()
	if probe.StatusCode != http.StatusNotFound {
		c.stop()
		return nil, fmt.Errorf("relay %s answers %s: is its token right?", c.address, probe.Status)
	}
	for range relayAskers {
		c.asking.Go(func() {
			for ctx.Err() == nil {
				if err := c.serveOne(ctx); err != nil && ctx.Err() == nil {
					pause(ctx, time.Second) // the relay may be restarting
				}
			}
		})
	}
	return c, nil
}

func (c *relayClient) send(ctx context.Context, path string, body []byte) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address+relayPath+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+c.token)
	return c.http.Do(q)
}

// serveOne fetches a call and sends the response.
func (c *relayClient) serveOne(ctx context.Context) error {
	response, err := c.send(ctx, "next", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	var call relayed
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&call); err != nil {
		return err
	}
	text, err := json.Marshal(c.play(ctx, &call))
	if err != nil {
		return err
	}
	done, err := c.send(ctx, "answer/"+call.ID, text)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, done.Body)
	return done.Body.Close()
}

// play runs the handler with a call as if it had arrived directly.
func (c *relayClient) play(ctx context.Context, call *relayed) (a relayAnswerBody) {
	defer func() {
		if recover() != nil { // the receiver breaks the connection
			a = relayAnswerBody{}
		}
	}()
	q, err := http.NewRequestWithContext(ctx, call.Method, call.URI, bytes.NewReader(call.Body))
	if err != nil {
		return relayAnswerBody{}
	}
	q.Header, q.Host, q.RequestURI = call.Header, call.Host, call.URI // as in a server
	w := recorder.Serve(c.handler, q)
	return relayAnswerBody{w.Status, w.Header(), w.Body.Bytes()}
}

func (c *relayClient) close() {
	c.stop()
	c.asking.Wait()
	c.http.CloseIdleConnections()
}
