package ratelimit_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

func bare(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "app") }

// limited is the plugin in front of an application, with an embedded store that it
// reaches over HTTP, as in production.
func limited(b *testing.B, algorithm string) http.Handler {
	b.Helper()
	store, err := kv.New(kv.Config{Token: "secret"})
	expect.NoError(b, err)
	server := httptest.NewServer(store)
	b.Cleanup(func() {
		server.Close()
		_ = store.Close() // a store in memory
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	b.Cleanup(transport.CloseIdleConnections)
	cfg, err := ratelimit.Parse([]byte(`{"token": "secret", "url": "` + server.URL + `", "strategy": [{"methods": ["ALL"], "path": "*", "identifierSource": "ip",
		"limiter": {"algorithm": "` + algorithm + `", "tokens": 1000000000, "window": "1h"}}]}`))
	expect.NoError(b, err)
	cfg.Client, cfg.Timeout, cfg.Stats, cfg.Log = &http.Client{Transport: transport}, time.Minute, &ratelimit.Stats{}, slog.New(slog.DiscardHandler)
	limit, err := ratelimit.New(cfg)
	expect.NoError(b, err)
	b.Cleanup(func() {
		if cfg.Stats.FailedOpen.Load() != 0 {
			b.Errorf("%d decisions failed", cfg.Stats.FailedOpen.Load())
		}
	})
	return limit(http.HandlerFunc(bare))
}

// BenchmarkDecisions measures the decisions per second of one host, with one
// concurrent client per processor.
func BenchmarkDecisions(b *testing.B) {
	for _, algorithm := range []string{"fixed-window", "sliding-window", "token-bucket"} {
		b.Run(algorithm, func(b *testing.B) {
			app := limited(b, algorithm)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					app.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

// BenchmarkLatency compares an application with and without the plugin, over HTTP, in
// turns: the added latency, and the ratio of the latencies.
func BenchmarkLatency(b *testing.B) {
	ask := func(url string, client *http.Client) time.Duration {
		start := time.Now()
		answer, err := client.Get(url)
		expect.NoError(b, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return time.Since(start)
	}
	without, with := httptest.NewServer(http.HandlerFunc(bare)), httptest.NewServer(limited(b, "sliding-window"))
	defer without.Close()
	defer with.Close()
	ask(without.URL, without.Client())
	ask(with.URL, with.Client())
	var base, loaded time.Duration
	b.ResetTimer()
	for range b.N {
		base += ask(without.URL, without.Client())
		loaded += ask(with.URL, with.Client())
	}
	b.ReportMetric(float64(loaded-base)/float64(b.N)/1e3, "added-us/request")
	b.ReportMetric(float64(loaded)/float64(base), "x-bare")
}
