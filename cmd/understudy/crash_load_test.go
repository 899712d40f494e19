package main

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// crashConfig configures a load.
type crashConfig struct {
	URL       func() string     // URL of the server for the next request
	Transport http.RoundTripper // for the requests; nil: a default one
	Tokens    []string          // of the accounts; each account has all lanes
	Manual    bool              // the clocks of the accounts are manual, and the load advances them
	Lanes     []string          // names of the lanes to run; nil: all
	Pause     time.Duration     // of a crashLane after each iteration
	// Slack is how long before and after a fault attempts count as cut: an outcome may not be
	// recorded yet, or the destination may receive a request that was sent earlier. 0: 500 ms
	Slack time.Duration
}

// crashLoad is load on servers that are killed at any moment; it checks that they kept what they
// accepted:
//
//	load := startCrashLoad(t, crashConfig{URL: func() string { return url }, Tokens: tokens})
//	... load.Cut(); kill a server; start it again ...
//	load.Stop()
//	t.Log(load.Judge(time.Minute))
//
// A lane is a goroutine that uses one part of the interface, one request after the other. It
// records a promise for each request that is answered with 2xx. The destination of all messages
// is in this process and records every attempt.
type crashLoad struct {
	t      programs.TB
	cfg    crashConfig
	client http.Client
	sink   *http.Server
	target string // URL of the destination
	serves sync.WaitGroup
	lanes  sync.WaitGroup
	stop   context.CancelFunc
	live   context.Context // cancels requests in progress at the end of the test

	mu       sync.Mutex
	faults   []*fault
	promises []promise
	runs     map[string]bool      // ids of accepted workflow runs
	never    map[string]time.Time // time after which nothing may be delivered, by the name of the message
	gone     map[string]bool      // ids of deleted DLQ entries
	exist    map[string]bool      // whether a schedule must exist, by account and id
	revived  map[string]bool      // names of messages that the destination no longer refuses
	seen     map[string][]visit   // by the name of the message
	running  map[string]int       // attempts in progress for a flow-control key, by account
	most     int                  // largest value in running
	over     []excess
	answers  map[int]int // of the servers: number by status
	problems []string
	hold     chan struct{} // the next attempt is kept, and closes it; nil unless Hold waits
}

// promise is a message that a server has accepted: it must be delivered, or be in the DLQ if
// it has an id.
type promise struct {
	account   int
	crashLane string
	name      string // of the message, as the destination receives it
	id        string
}

// visit is an attempt as the destination saw it.
type visit struct {
	began, ended time.Time
	status       int
	cut          bool // the server closed the connection before the answer
}

var wall = clock.NewReal()

// startCrashLoad starts a load. It ends with Stop, or with the test.
func startCrashLoad(t programs.TB, cfg crashConfig) *crashLoad {
	t.Helper()
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	}
	if cfg.Slack == 0 {
		cfg.Slack = defaultSlack
	}
	l := &crashLoad{
		t: t, cfg: cfg, client: http.Client{Timeout: 20 * time.Second, Transport: cfg.Transport},
		runs: map[string]bool{}, never: map[string]time.Time{}, gone: map[string]bool{}, exist: map[string]bool{},
		revived: map[string]bool{}, seen: map[string][]visit{}, running: map[string]int{}, answers: map[int]int{},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	l.target = "http://" + listener.Addr().String()
	l.sink = &http.Server{Handler: http.HandlerFunc(l.visit), ReadHeaderTimeout: time.Minute}
	l.serves.Go(func() { _ = l.sink.Serve(listener) }) // ends with Close
	ctx, stop := context.WithCancel(context.Background())
	live, die := context.WithCancel(context.Background())
	l.stop, l.live = stop, live
	t.Cleanup(func() {
		die() // when a test has failed, servers may not answer
		l.Stop()
		_ = l.sink.Close()
		l.serves.Wait()
		l.client.CloseIdleConnections()
	})
	for account, token := range cfg.Tokens {
		for i := range kinds {
			if kind := &kinds[i]; len(cfg.Lanes) == 0 || slices.Contains(cfg.Lanes, kind.name) {
				l.lanes.Go(func() { l.run(ctx, &crashLane{kind: kind, account: account, token: token, load: l}) })
			}
		}
		if cfg.Manual {
			l.lanes.Go(func() { l.moveClock(ctx, token) })
		}
	}
	return l
}

// Cut records that attempts may be cut at this instant. Call it just before a server is
// killed.
func (l *crashLoad) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := wall.Now()
	l.faults = append(l.faults, &fault{at: now, until: now})
}

// Hold makes the destination keep its next attempt until the server ends it, at most a minute.
// It returns when that attempt has begun.
func (l *crashLoad) Hold() {
	begun := make(chan struct{})
	l.mu.Lock()
	l.hold = begun
	l.mu.Unlock()
	select {
	case <-begun:
	case <-l.live.Done():
	}
}

// Harm records that from now on attempts of some accounts may be cut, and that two servers
// may make them. accounts are positions in crashConfig.Tokens; nil: all. end ends this period.
func (l *crashLoad) Harm(accounts []int) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &fault{at: wall.Now(), until: wall.Now().AddDate(1, 0, 0), accounts: accounts, twofold: true}
	l.faults = append(l.faults, f)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		f.until = wall.Now()
	}
}

// Accepted is the number of promises.
func (l *crashLoad) Accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.promises)
}

// Answers counts the answers of the servers by status; status 0 counts requests without a
// complete answer.
func (l *crashLoad) Answers() map[int]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.answers)
}

// Stop stops the lanes and waits for their requests.
func (l *crashLoad) Stop() {
	l.stop()
	l.lanes.Wait()
}

// ask sends a request as an account. It returns the body of the answer, nil when the request
// may not have been accepted.
func (l *crashLoad) ask(token, method, path string, header map[string]string, body string) []byte {
	r, err := http.NewRequestWithContext(l.live, method, l.cfg.URL()+path, strings.NewReader(body)) // the client has a deadline
	if err != nil {
		l.problem("%v", err)
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	status, text := l.exchange(r)
	l.mu.Lock()
	l.answers[status]++
	l.mu.Unlock()
	switch {
	case status >= 200 && status < 300:
		return append(text, '\n') // never nil
	case status == http.StatusBadRequest && strings.Contains(string(text), "has ended with RUN_"):
		return text // a step that was submitted before is repeated after the end of its run
	case status == 0, status == http.StatusServiceUnavailable, status == http.StatusNotFound, status == http.StatusBadGateway:
	default:
		l.problem("%s %s: status %d: %s", method, path, status, text)
	}
	return nil
}

// exchange sends a request. Status 0 means no answer, or an incomplete one.
func (l *crashLoad) exchange(r *http.Request) (int, []byte) {
	response, err := l.client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	return response.StatusCode, text
}

// moveClock advances a manual clock while the load runs.
func (l *crashLoad) moveClock(ctx context.Context, token string) {
	for clock.Pause(ctx, 20*time.Millisecond) == nil {
		l.advance(token)
	}
}

func (l *crashLoad) advance(token string) {
	l.ask(token, http.MethodPost, "/_understudy/clock/advance", map[string]string{"Content-Type": "application/json"}, `{"by":"100ms","timeout":"5s"}`)
}
