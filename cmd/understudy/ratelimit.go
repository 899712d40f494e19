package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

// RatelimitCmd is about the rate-limit plugin.
type RatelimitCmd struct {
	Check RatelimitCheckCmd `cmd:"" help:"Check a plugin configuration."`
	Serve RatelimitServeCmd `cmd:"" help:"Run a small application behind the plugin, to try a configuration on."`
}

// RatelimitCheckCmd checks a configuration.
type RatelimitCheckCmd struct {
	File string `arg:"" help:"The configuration, as JSON; - for standard input."`
}

// Run prints every problem of the file, a line each.
func (c *RatelimitCheckCmd) Run(e *env) error {
	cfg, err := readPlugin(c.File, e.out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "%s: fine, %d strategies\n", c.File, len(cfg.Strategy))
	return err
}

// readPlugin reads a configuration. What is wrong with it goes to out.
func readPlugin(file string, out io.Writer) (ratelimit.Config, error) {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	text, err := read()
	if err != nil {
		return ratelimit.Config{}, usageError("ratelimit: %w", err)
	}
	cfg, err := ratelimit.Parse(text)
	if invalid, ok := errors.AsType[*ratelimit.Invalid](err); ok {
		_, _ = fmt.Fprintln(out, invalid) // the exit code tells it too
		return cfg, command.Fail(command.ExitFailed, fmt.Errorf("%s: %d problems", file, len(invalid.Problems)))
	}
	if err != nil {
		return cfg, command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", file, err))
	}
	return cfg, nil
}

// RatelimitServeCmd runs an application behind the plugin.
type RatelimitServeCmd struct {
	File         string         `arg:"" help:"The configuration, as JSON; - for standard input."`
	Addr         string         `default:"127.0.0.1:8090" help:"Where to listen; port 0 takes a free one."`
	Upstream     *url.URL       `placeholder:"URL" help:"An application of your own behind the plugin, in place of one that answers with what was asked."`
	Embedded     bool           `help:"Keep the counters in this process, whatever url and token of the file say."`
	TrustedProxy []netip.Prefix `placeholder:"CIDR" help:"Believe the X-Forwarded-For of these addresses; repeatable."`
	Timeout      time.Duration  `default:"1s" help:"How long a request waits for the store before it passes."`
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
		return usageError("--upstream %q: must be an http(s) URL", c.Upstream)
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
		defer func() { _ = embedded.Close() }() // it keeps nothing
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
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(e.ctx, func() { _ = server.Close() }) // Serve returns then
	defer stop()
	_, _ = fmt.Fprintf(e.out, "An application with %d rate-limit strategies is running at %s\n", len(cfg.Strategy), address)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("ratelimit serve: %w", err)
	}
	cfg.Log.Info("stopped", "allowed", cfg.Stats.Allowed.Load(), "limited", cfg.Stats.Limited.Load(),
		"failedOpen", cfg.Stats.FailedOpen.Load(), "unidentified", cfg.Stats.Unidentified.Load())
	return nil
}

// storePath is where the embedded store of the application is: no strategy
// limits it.
const storePath = "/_store"

// application is what the plugin protects: every path of echo answers with what
// was asked.
func (c *RatelimitServeCmd) application() http.Handler {
	if c.Upstream == nil {
		return http.HandlerFunc(echoRequest)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(c.Upstream) }}
}

// echoRequest is the application when there is no other.
func echoRequest(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"method": r.Method, "path": r.URL.Path, "from": r.RemoteAddr}) // the client may be gone
}
