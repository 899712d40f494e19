package kv_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	limiter "github.com/understudy-mock/understudy/engine/ratelimit"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

func digestOf(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// strategyOf returns a configuration with one strategy that uses a store.
func strategyOf(url, algorithm string, tokens int64, now func() time.Time) ratelimit.Config {
	return ratelimit.Config{
		URL: url, Token: "secret", Now: now, Timeout: time.Minute, Stats: &ratelimit.Stats{}, Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		Strategy: []ratelimit.Strategy{{
			Methods: []string{"ALL"}, Path: "*", IdentifierSource: "ip",
			Limiter: ratelimit.Limiter{Algorithm: limiter.Algorithm(algorithm), Tokens: tokens, Window: "10s", RefillRate: 2},
		}},
	}
}

// limiterScenarios are times in ms and whether a request passes then (1) or not (0),
// with a limit of 4 per 10 s.
var limiterScenarios = map[string]string{
	"fixed-window":   "0:1 0:1 5000:1 9999:1 9999:0 10000:1 19999:1 20000:1 65000:1",
	"sliding-window": "0:1 0:1 5000:1 9999:1 9999:0 10000:0 10001:1 10002:0 12501:1 15001:1 30000:1",
	"token-bucket":   "0:1 0:1 0:1 0:1 0:0 9999:0 10000:1 10000:1 10000:0 25000:1 25000:1 25000:0 90000:1 90000:1 90000:1 90000:1 90000:0",
}

func TestLimiterScenarios(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret", Now: newClock().Now})
	server := httptest.NewServer(store)
	defer server.Close()
	for algorithm, scenario := range limiterScenarios {
		c := newClock()
		cfg := strategyOf(server.URL, algorithm, 4, c.Now)
		cfg.Prefix = algorithm
		app := newApp(t, cfg)
		at := int64(0)
		for i, step := range strings.Fields(scenario) {
			text, want, _ := strings.Cut(step, ":")
			ms, err := strconv.ParseInt(text, 10, 64)
			expect.NoError(t, err)
			c.pass(time.Duration(ms-at) * time.Millisecond)
			at = ms
			w := ask(app, "GET", "/", "")
			if got := map[int]string{200: "1", 429: "0"}[w.Code]; got != want {
				t.Errorf("%s, step %d at %d ms: got %d %v %s", algorithm, i, ms, w.Code, w.Header(), w.Body)
			}
		}
		if cfg.Stats.FailedOpen.Load() != 0 {
			t.Errorf("%s: %d decisions failed", algorithm, cfg.Stats.FailedOpen.Load())
		}
		cfg.Client.CloseIdleConnections()
	}
}

func newApp(t testing.TB, cfg ratelimit.Config) http.Handler {
	t.Helper()
	limit, err := ratelimit.New(cfg)
	expect.NoError(t, err)
	return limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "app") }))
}

const (
	processes = 8
	perHost   = 60 // requests of each
	allowed   = 101
)

// TestManyHostsNeverPassTheLimit runs 8 processes, each an application with its own
// plugin, with one store and one limit.
func TestManyHostsNeverPassTheLimit(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"fixed-window", "sliding-window", "token-bucket"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(newKV(t, kv.Config{Token: "secret"}))
			defer server.Close()
			outs := make([][]byte, processes)
			var wg sync.WaitGroup
			for i := range processes {
				wg.Go(func() {
					cmd := exec.CommandContext(t.Context(), os.Args[0])
					cmd.Env = append(os.Environ(), "KV_TEST_HOST="+server.URL, "KV_TEST_ALGORITHM="+algorithm)
					outs[i], _ = cmd.CombinedOutput() // the output is checked below
				})
			}
			wg.Wait()
			total := 0
			for _, out := range outs {
				n, err := strconv.Atoi(strings.TrimSpace(string(out)))
				if err != nil {
					t.Fatalf("host: got output %s, want a number", out)
				}
				total += n
			}
			if total != allowed {
				t.Errorf("%d of %d requests passed, want exactly the limit of %d", total, processes*perHost, allowed)
			}
		})
	}
}

// hostProcess is one of the hosts: it prints how many of its requests passed.
func hostProcess(url string) int {
	cfg := strategyOf(url, os.Getenv("KV_TEST_ALGORITHM"), allowed, newClock().Now)
	limit, err := ratelimit.New(cfg)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	app := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range perHost / 4 {
				ask(app, "GET", "/", "")
			}
		})
	}
	wg.Wait()
	if n := cfg.Stats.FailedOpen.Load(); n != 0 {
		fmt.Println(n, "decisions failed")
		return 1
	}
	fmt.Println(cfg.Stats.Allowed.Load())
	return 0
}
