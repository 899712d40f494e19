package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"time"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

// RatelimitCmd is about the rate-limit plugin.
type RatelimitCmd struct {
	Check RatelimitCheckCmd `cmd:"" help:"Check a plugin configuration." example:"understudy ratelimit check plugin.json"`
	Serve RatelimitServeCmd `cmd:"" help:"Run a small application behind the plugin, to try out a configuration." example:"understudy ratelimit serve plugin.json"`
}

// RatelimitCheckCmd checks a configuration.
type RatelimitCheckCmd struct {
	File string `arg:"" help:"The configuration, as JSON; - for standard input."`
}

// Run prints every problem of the file, one per line.
func (c *RatelimitCheckCmd) Run(e *env) error {
	cfg, err := readPlugin(c.File, e.out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "%s: valid; strategies: %d\n", c.File, len(cfg.Strategy))
	return err
}

// readPlugin reads a configuration. It prints its problems to out.
func readPlugin(file string, out io.Writer) (ratelimit.Config, error) {
	text, err := readInput(file)
	if err != nil {
		return ratelimit.Config{}, usageError("ratelimit: %w", err)
	}
	cfg, err := ratelimit.Parse(text)
	if invalid, ok := errors.AsType[*ratelimit.Invalid](err); ok {
		_, _ = fmt.Fprintln(out, invalid) // the exit code reports it too
		return cfg, command.Fail(command.ExitFailed, fmt.Errorf("%s: %s", file, clip.Counted(len(invalid.Problems), "problem", "problems")))
	}
	if err != nil {
		return cfg, command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", file, err))
	}
	return cfg, nil
}

// RatelimitServeCmd runs an application behind the plugin.
type RatelimitServeCmd struct {
	File         string         `arg:"" help:"The configuration, as JSON; - for standard input."`
	Addr         string         `default:"127.0.0.1:8090" help:"Address to listen on; port 0 takes a free port."`
	Upstream     *url.URL       `placeholder:"URL" help:"Your own application behind the plugin. Default: one that echoes the request."`
	Embedded     bool           `help:"Keep the counters in this process, and ignore url and token of the file."`
	TrustedProxy []netip.Prefix `placeholder:"CIDR" help:"Trust the X-Forwarded-For header from these addresses; repeatable."`
	Timeout      time.Duration  `default:"1s" help:"How long a request waits for the store before it is let through."`
	LogLevel     string         `default:"debug" help:"debug, info, warn, error."`
	LogFormat    string         `default:"text" enum:"text,json" help:"text or json."`
}

// Run serves until it receives a signal to stop.
func (c *RatelimitServeCmd) Run(e *env) error {
	cfg, err := readPlugin(c.File, e.err)
	if err != nil {
		return usageError("ratelimit serve: %w", err)
	}
	if c.Upstream != nil && (c.Upstream.Host == "" || c.Upstream.Scheme != "http" && c.Upstream.Scheme != "https") {
		return usageError("--upstream: invalid value %q: must be an http(s) URL", c.Upstream)
	}
	if cfg.Log, err = e.logger(c.LogLevel, c.LogFormat); err != nil {
		return err
	}
	cfg.TrustedProxies, cfg.Timeout, cfg.Stats = c.TrustedProxy, c.Timeout, &ratelimit.Stats{}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return usageError("ratelimit serve: %w", err)
	}
	address := "http://" + mockserver.Reachable(listener.Addr())
	store := http.NewServeMux()
	if c.Embedded {
		embedded, err := kv.New(kv.Config{Token: cfg.Token})
		if err != nil {
			return err
		}
		defer func() { _ = embedded.Close() }() // it stores nothing
		store.Handle(storePath, http.StripPrefix(storePath, embedded))
		store.Handle(storePath+"/", http.StripPrefix(storePath, embedded))
		cfg.URL = address + storePath
	}
	limit, err := ratelimit.New(cfg)
	if err != nil {
		return usageError("ratelimit serve: %w", err)
	}
	handler := limit(c.application())
	if c.Embedded {
		store.Handle("/", handler)
		handler = store
	}
	if err := e.serve("ratelimit serve", listener, handler, fmt.Sprintf("An application with %d rate-limit strategies is running at %s", len(cfg.Strategy), address)); err != nil {
		return err
	}
	cfg.Log.Info("stopped", "allowed", cfg.Stats.Allowed.Load(), "limited", cfg.Stats.Limited.Load(),
		"failedOpen", cfg.Stats.FailedOpen.Load(), "unidentified", cfg.Stats.Unidentified.Load())
	return nil
}

// storePath is the path of the embedded store. No strategy limits it.
const storePath = "/_store"

// application is the handler behind the plugin: --upstream, or echoRequest without one.
func (c *RatelimitServeCmd) application() http.Handler {
	if c.Upstream == nil {
		return http.HandlerFunc(echoRequest)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(c.Upstream) }}
}

// echoRequest answers with the method, the path and the address of the request.
func echoRequest(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"method": r.Method, "path": r.URL.Path, "from": r.RemoteAddr}) // the client may have disconnected
}
