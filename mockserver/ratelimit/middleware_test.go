package ratelimit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	limiter "github.com/understudy-mock/understudy/engine/ratelimit"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is an application with the plugin in front, and its store.
type host struct {
	t     *testing.T
	cfg   ratelimit.Config
	app   http.Handler
	log   *bytes.Buffer
	mu    sync.Mutex
	now   time.Time
	calls int // requests to the store; under mu
}

func (h *host) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *host) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// newHost runs strategies, given as JSON, with an embedded store. change may modify
// the rest of the configuration.
func newHost(t *testing.T, strategies string, change ...func(*ratelimit.Config)) *host {
	t.Helper()
	h := &host{t: t, now: time.UnixMilli(1767225600000), log: &bytes.Buffer{}}
	store, err := kv.New(kv.Config{Token: "secret", Now: h.clock})
	expect.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.calls++
		h.mu.Unlock()
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := ratelimit.Parse([]byte(`{"token": "secret", "url": "` + server.URL + `", "prefix": "p", "strategy": ` + strategies + `}`))
	expect.NoError(t, err)
	cfg.Now, cfg.Client, cfg.Stats = h.clock, server.Client(), &ratelimit.Stats{}
	cfg.Log = slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, c := range change {
		c(&cfg)
	}
	limit, err := ratelimit.New(cfg)
	expect.NoError(t, err)
	h.cfg = cfg
	h.app = limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "app") }))
	return h
}

func (h *host) ask(method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.app.ServeHTTP(w, r)
	return w
}

func (h *host) want(status int, method, path string, header ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	w := h.ask(method, path, header...)
	if w.Code != status {
		h.t.Errorf("%s %s %v: got %d %s, want %d", method, path, header, w.Code, w.Body, status)
	}
	return w
}

// keys returns the keys of the store.
func (h *host) keys() string {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.cfg.URL, strings.NewReader(`["KEYS", "*"]`))
	expect.NoError(h.t, err)
	r.Header.Set("Authorization", "Bearer secret")
	answer, err := h.cfg.Client.Do(r)
	expect.NoError(h.t, err)
	defer func() { _ = answer.Body.Close() }()
	var out struct{ Result []string }
	expect.NoError(h.t, json.NewDecoder(answer.Body).Decode(&out))
	return strings.Join(out.Result, " ")
}

func TestOverTheLimit(t *testing.T) {
	t.Parallel()
	h := newHost(t, `[{"methods": ["GET"], "path": "/api/:id", "identifierSource": "ip", "limiter": {"algorithm": "fixed-window", "tokens": 2, "window": "10s"}}]`)
	first := h.want(200, "GET", "/api/1")
	expect.Equal(t, "header RateLimit-Limit of the first answer", first.Header().Get("RateLimit-Limit"), "2")
	expect.Equal(t, "header RateLimit-Remaining of the first answer", first.Header().Get("RateLimit-Remaining"), "1")
	expect.Equal(t, "header RateLimit-Reset of the first answer", first.Header().Get("RateLimit-Reset"), "10")
	expect.Equal(t, "header Retry-After of the first answer", first.Header().Get("Retry-After"), "")
	h.pass(9999 * time.Millisecond)
	h.want(200, "GET", "/api/2")
	over := h.want(429, "GET", "/api/3")
	for name, want := range map[string]string{"Retry-After": "1", "RateLimit-Limit": "2", "RateLimit-Remaining": "0", "RateLimit-Reset": "1", "Content-Type": "application/json"} {
		if got := over.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	expect.Equal(t, "body", over.Body.String(), `{"error":"limit of 2 requests per 10s reached for GET /api/:id: try again in 1 s"}`)
	h.want(429, "HEAD", "/api/3")
	h.want(200, "POST", "/api/3")
	h.want(200, "GET", "/other")
	expect.Equal(t, "keys", h.keys(), "p:GET:/api/:id:192.0.2.1:176722560")
	h.pass(time.Millisecond)
	h.want(200, "GET", "/api/3")
	expect.Equal(t, "number of allowed requests", h.cfg.Stats.Allowed.Load(), 3)
	expect.Equal(t, "number of limited requests", h.cfg.Stats.Limited.Load(), 2)
}

func TestTheThreeAlgorithmsDiffer(t *testing.T) {
	t.Parallel()
	// 4 requests at the end of a window, then at the start of the next.
	for algorithm, want := range map[limiter.Algorithm]string{
		limiter.Fixed:   "1111 1111",
		limiter.Sliding: "1111 1000", // 3 of the 4 earlier requests still count
		limiter.Bucket:  "1111 0000", // the bucket starts at 9 s and is refilled at 19 s
	} {
		h := newHost(t, `[{"methods": ["ALL"], "path": "*", "identifierSource": "ip", "limiter": {"algorithm": "`+string(algorithm)+`", "tokens": 4, "window": "10s"}}]`)
		h.pass(9 * time.Second)
		var got strings.Builder
		for i := range 8 {
			if i == 4 {
				h.pass(2 * time.Second)
				got.WriteString(" ")
			}
			got.WriteString(map[int]string{200: "1", 429: "0"}[h.ask("GET", "/").Code])
		}
		if got.String() != want {
			t.Errorf("%s: got %s, want %s", algorithm, got.String(), want)
		}
	}
}

func TestWhoSharesACounter(t *testing.T) {
	t.Parallel()
	h := newHost(t, `[{"methods": ["GET", "POST"], "path": "/a", "identifierSource": "header.X-User", "limiter": {"algorithm": "fixed-window", "tokens": 1, "window": "1h"}},
		{"methods": ["ALL", "GET"], "path": "/b", "identifierSource": "header.x-user", "limiter": {"algorithm": "fixed-window", "tokens": 2, "window": "1h"}}]`)
	h.want(200, "GET", "/a", "X-User", "me")
	h.want(429, "GET", "/a", "X-User", "me")
	h.want(200, "GET", "/a", "X-User", "you")
	h.want(200, "POST", "/a", "X-User", "me") // methods have separate counters
	h.want(200, "GET", "/b", "X-User", "me")  // counted once, although ALL and GET match
	h.want(200, "DELETE", "/b", "X-User", "me")
	h.want(429, "PATCH", "/b", "X-User", "me") // one counter for all methods
	missing := h.want(400, "GET", "/a")
	expect.Equal(t, "body", missing.Body.String(), `{"error":"header X-User is missing: it says whose requests these are, and must not be empty"}`)
	if h.cfg.Stats.Unidentified.Load() != 1 {
		t.Error("not counted")
	}
}

func TestSeveralStrategiesMustAllAllow(t *testing.T) {
	t.Parallel()
	h := newHost(t, `[{"methods": ["ALL"], "path": "*", "identifierSource": "ip", "limiter": {"algorithm": "sliding-window", "tokens": 5, "window": "1h"}},
		{"methods": ["GET"], "path": "/a", "identifierSource": "ip", "limiter": {"algorithm": "token-bucket", "tokens": 1, "window": "1h"}},
		{"methods": ["GET"], "path": "/a", "identifierSource": "header.X-User", "limiter": {"algorithm": "fixed-window", "tokens": 3, "window": "1h"}}]`)
	h.want(200, "GET", "/a", "X-User", "192.0.2.1")
	over := h.want(429, "GET", "/a", "X-User", "192.0.2.1")
	expect.Equal(t, "limit", over.Header().Get("RateLimit-Limit"), "1")
	if w := h.want(200, "GET", "/b"); w.Header().Get("RateLimit-Remaining") != "3" {
		t.Errorf("the refused request was counted: %v", w.Header())
	}
	if h.calls != 4 { // one of them EVAL after NOSCRIPT
		t.Errorf("%d calls of the store for 3 decisions", h.calls)
	}
	keys := h.keys()
	for _, want := range []string{"p:ALL:*:192.0.2.1:", "p:GET:/a:ip=192.0.2.1", "p:GET:/a:header.x-user=192.0.2.1:"} {
		if !strings.Contains(keys, want) {
			t.Errorf("no key %s in %s", want, keys)
		}
	}
}

func TestDebugAnalyticsAndEnabled(t *testing.T) {
	t.Parallel()
	const strategies = `[{"methods": ["GET"], "path": "/a", "identifierSource": "ip", "debug": "true", "limiter": {"algorithm": "fixed-window", "tokens": 1, "window": "1h"}},
		{"methods": ["GET"], "path": "/b", "identifierSource": "ip", "debug": "false", "limiter": {"algorithm": "fixed-window", "tokens": 1, "window": "1h"}}]`
	h := newHost(t, strategies, func(c *ratelimit.Config) { c.Analytics = true })
	h.ask("GET", "/a")
	h.ask("GET", "/a")
	h.ask("GET", "/b")
	log := h.log.String()
	for _, want := range []string{
		`msg="rate limit" method=GET path=/a identifier=192.0.2.1 limit=1 remaining=0 blocked=false`,
		`msg="rate limit" method=GET path=/a identifier=192.0.2.1 limit=1 remaining=0 blocked=true`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no line %s in\n%s", want, log)
		}
	}
	expect.Lacks(t, "a strategy without debug is logged", log, `msg="rate limit" method=GET path=/b`)
	if keys := h.keys(); !strings.Contains(keys, "p:GET:/a:events:1767225600000") {
		t.Errorf("no analytics in %s", keys)
	}

	off := false
	h = newHost(t, strategies, func(c *ratelimit.Config) { c.Enabled = &off })
	for range 3 {
		if w := h.want(200, "GET", "/a"); w.Header().Get("RateLimit-Limit") != "" {
			t.Error("a plugin that is not enabled leaves headers")
		}
	}
	if h.calls != 0 {
		t.Error("a plugin that is not enabled asks its store")
	}
}

func TestAStoreThatCannotDecideLetsRequestsPass(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"down": nil,
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		},
		"wrong token": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"error":"WRONGPASS"}`)
		},
		"a server error":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) },
		"invalid JSON":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"no result":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		"a text":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result":"OK"}`) },
		"too few numbers": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result":[0]}`) },
		"too many":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result":[0,9,0,1]}`) },
		"a contradiction": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result":[0,0,0]}`) },
		"no scripts": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":"NOSCRIPT"}`)
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("[1"), 1<<20)) },
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answer != nil {
				answer(w, r)
			}
		}))
		t.Cleanup(server.Close)
		if answer == nil {
			server.Close()
		}
		h := newHost(t, `[{"methods": ["ALL"], "path": "*", "identifierSource": "ip", "limiter": {"algorithm": "fixed-window", "tokens": 1, "window": "1h"}}]`,
			func(c *ratelimit.Config) {
				c.URL, c.Client, c.Timeout = server.URL, server.Client(), 100*time.Millisecond
			})
		for range 2 {
			w := h.want(200, "GET", "/")
			expect.Equal(t, name+": body", w.Body.String(), "app")
			expect.Equal(t, name+": header RateLimit-Limit", w.Header().Get("RateLimit-Limit"), "")
		}
		expect.Equal(t, name+": number of requests without a check", h.cfg.Stats.FailedOpen.Load(), 2)
		if n := strings.Count(h.log.String(), "level=ERROR"); n != 2 {
			t.Errorf("%s: errors in the log: got %d, want 2:\n%s", name, n, h.log)
		}
		if strings.Contains(h.log.String(), "secret") {
			t.Errorf("%s: the token is logged", name)
		}
	}
}

func TestManyAtOnceNeverPassTheLimit(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"fixed-window", "sliding-window", "token-bucket"} {
		h := newHost(t, `[{"methods": ["ALL"], "path": "*", "identifierSource": "ip", "limiter": {"algorithm": "`+algorithm+`", "tokens": 25, "window": "1h"}}]`,
			func(c *ratelimit.Config) { c.Timeout = time.Minute })
		h.ask("GET", "/") // caches the script in the store
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					h.ask("GET", "/")
				}
			})
		}
		wg.Wait()
		s := h.cfg.Stats
		expect.Equal(t, fmt.Sprintf("%s: s.Allowed.Load()", algorithm), s.Allowed.Load(), 25)
		expect.Equal(t, fmt.Sprintf("%s: s.Limited.Load()", algorithm), s.Limited.Load(), 56)
		expect.Equal(t, fmt.Sprintf("%s: s.FailedOpen.Load()", algorithm), s.FailedOpen.Load(), 0)
	}
}
