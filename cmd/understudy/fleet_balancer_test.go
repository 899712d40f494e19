package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// balancer forwards the requests of clients to the servers of a fleet in rotation. When a
// server does not accept the connection, it tries the next one.
type balancer struct {
	transport http.Transport

	mu      sync.Mutex
	servers []*backend
	turn    int
	answers []answer
}

// backend is a server behind the balancer.
type backend struct {
	host string          // host:port
	up   context.Context // canceling it ends the unanswered requests
	down context.CancelFunc
}

// answer is the answer that a client has received.
type answer struct {
	token, what  string
	publishes    bool
	status       int // 0: no answer
	text         string
	patience     string // Retry-After
	began, ended time.Time
}

func (a answer) String() string {
	return fmt.Sprintf("%s from %s to %s: status %d, Retry-After %q: %.200s", a.what, a.began.Format(time.StampMilli), a.ended.Format(time.StampMilli), a.status, a.patience, a.text)
}

func newBalancer() *balancer {
	return &balancer{transport: http.Transport{MaxIdleConnsPerHost: 100}}
}

// add adds a server to the balancer.
func (b *balancer) add(url string) {
	ctx, cancel := context.WithCancel(context.Background())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers = append(b.servers, &backend{strings.TrimPrefix(url, "http://"), ctx, cancel})
}

// remove removes a server. It ends the server's unanswered requests if harmed, because they
// would never be answered.
func (b *balancer) remove(url string, harmed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers = slices.DeleteFunc(b.servers, func(s *backend) bool {
		if "http://"+s.host != url {
			return false
		}
		if harmed {
			s.down()
		}
		return true
	})
}

// next returns the next server, nil without servers.
func (b *balancer) next() *backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.servers) == 0 {
		return nil
	}
	b.turn++
	return b.servers[b.turn%len(b.servers)]
}

// RoundTrip sends a request and records the answer.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	a := answer{
		token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), what: r.Method + " " + r.URL.Path, began: time.Now(),
		publishes: strings.HasPrefix(r.URL.Path, "/v2/publish/") || strings.HasPrefix(r.URL.Path, "/v2/enqueue/"),
	}
	response, text, err := b.try(r)
	a.ended, a.text = time.Now(), string(text)
	if err == nil {
		a.status, a.patience = response.StatusCode, response.Header.Get("Retry-After")
	} else {
		a.text = err.Error()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, a)
	return response, err
}

// try sends a request to the next server that accepts connections.
func (b *balancer) try(r *http.Request) (response *http.Response, text []byte, err error) {
	err = errors.New("no server is up")
	for range 4 {
		s := b.next()
		if s == nil {
			return nil, nil, err
		}
		if response, text, err = b.ask(s, r); !errors.Is(err, syscall.ECONNREFUSED) {
			return response, text, err
		}
	}
	return nil, nil, err
}

func (b *balancer) ask(s *backend, r *http.Request) (*http.Response, []byte, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.up, cancel)()
	to := r.Clone(ctx)
	to.URL.Host = s.host
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, nil, err
		}
		to.Body = body
	}
	response, err := b.transport.RoundTrip(to)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, text, nil
}

// since returns the answers to requests that began after an instant, oldest first.
func (b *balancer) since(at time.Time) (list []answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.answers) - 1; i >= 0 && b.answers[i].ended.After(at); i-- {
		if b.answers[i].began.After(at) {
			list = append(list, b.answers[i])
		}
	}
	slices.Reverse(list)
	return list
}

// errors returns the server errors since an instant, and the requests without an answer.
func (b *balancer) errors(at time.Time) []answer {
	return slices.DeleteFunc(b.since(at), func(a answer) bool { return a.status != 0 && a.status < 500 })
}

// figures counts all answers by status, and returns the answers that no fault excuses.
func (b *balancer) figures() (counts map[int]int, wrong []answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts = map[int]int{}
	for _, a := range b.answers {
		counts[a.status]++
		if a.status >= 500 && (a.status != http.StatusServiceUnavailable || a.patience == "") {
			wrong = append(wrong, a)
		}
	}
	return counts, wrong
}
