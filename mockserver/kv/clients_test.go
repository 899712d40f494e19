package kv_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/spec"
)

// clientTests has tests in the language of the published clients.
const clientTests = "../../conformance/clients/ratelimit"

// TestPublishedPackages runs the published packages against the store alone. neutral replaces the handling of dialects in the server.
func TestPublishedPackages(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the published client packages are NOT tested", "node", "npm")
	modules := installed(t)
	dialect, err := spec.LoadDialect("upstash")
	expect.NoError(t, err)
	server := httptest.NewServer(http.StripPrefix("/kv", neutral(dialect, newKV(t, kv.Config{Token: "secret"}))))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(2*time.Minute))
	defer cancel()
	test := exec.CommandContext(ctx, "npm", "test", "--silent")
	test.Dir = modules
	test.Env = append(os.Environ(), dialect.Env["KV_URL"]+"="+server.URL+"/kv", dialect.Env["KV_TOKEN"]+"=secret", "PLUGIN_PREFIX="+pluginEvents(t, server.URL+"/kv"))
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// neutral renames headers as the server does.
func neutral(dialect *spec.Dialect, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header = dialect.NeutralHeader(r.Header)
		next.ServeHTTP(w, r)
	})
}

// installed returns a folder with the tests and their packages: clientTests if the
// packages are installed there, otherwise a temporary copy.
func installed(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(clientTests, "node_modules")); err == nil {
		return clientTests
	}
	dir := t.TempDir()
	expect.NoError(t, os.CopyFS(dir, os.DirFS(clientTests)))
	npm := exec.CommandContext(t.Context(), "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		programs.SkipLoud(t, fmt.Sprintf("npm install: %v: %s", err, out))
	}
	return dir
}

// pluginEvents sends three requests through the plugin, which allows one, and returns
// the prefix of its events.
func pluginEvents(t *testing.T, url string) string {
	t.Helper()
	cfg := strategyOf(url, "fixed-window", 1, time.Now)
	cfg.Prefix, cfg.Analytics = "plugin", true
	cfg.Strategy[0].Limiter.Window = "30d"
	app := newApp(t, cfg)
	for range 3 {
		ask(app, http.MethodGet, "/", "")
	}
	cfg.Client.CloseIdleConnections()
	return cfg.Prefix
}
