package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/understudy-mock/understudy/conformance/proxy"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec/mask"
)

// ProxyCmd runs a validating proxy.
type ProxyCmd struct {
	Upstream  string `required:"" placeholder:"URL" help:"The implementation behind the proxy."`
	Addr      string `default:"127.0.0.1:8081" help:"Where to listen; port 0 takes a free one."`
	Report    string `placeholder:"FILE" help:"Write each violation as a line of JSON."`
	Record    string `placeholder:"FILE" help:"Write requests, and stubs that play the upstream, as YAML when it stops; secrets are masked."`
	Enforce   bool   `help:"Answer a violation instead of passing it on."`
	Dialect   string `default:"auto" help:"Naming of the interface: auto (each request by its own names), svc, upstash, or a YAML file."`
	LogLevel  string `default:"info" help:"debug, info, warn, error."`
	LogFormat string `default:"text" enum:"text,json" help:"text or json."`
}

// Run passes traffic through until it is told to stop; exit code 1 says that
// something broke the document.
func (c *ProxyCmd) Run(e *env) error {
	upstream, err := url.Parse(c.Upstream)
	if err != nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" {
		return usage("--upstream %q: must be an http(s) URL", mask.URL(c.Upstream))
	}
	cfg := proxy.Config{Upstream: upstream, Enforce: c.Enforce}
	if cfg.Dialect, err = speaking(c.Dialect); err != nil {
		return usage("--dialect: %w", err)
	}
	if cfg.Log, err = e.logger(c.LogLevel, c.LogFormat); err != nil {
		return err
	}
	files := map[string]*os.File{}
	for flag, file := range map[string]string{"report": c.Report, "record": c.Record} {
		if file == "" {
			continue
		}
		f, err := os.Create(file)
		if err != nil {
			return usage("--%s: %w", flag, err)
		}
		defer func() { _ = f.Close() }() // what was written is told by the writer
		files[flag] = f
	}
	if f := files["report"]; f != nil {
		cfg.Report = f
	}
	cfg.Record = files["record"] != nil
	p, err := proxy.New(cfg)
	if err != nil {
		return usage("%w", err)
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return usage("proxy: %w", err)
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: 30 * time.Second}
	stop := context.AfterFunc(e.ctx, func() { _ = server.Close() }) // Serve returns then
	defer stop()
	_, _ = fmt.Fprintf(e.out, "A proxy before %s is running at http://%s\n", mask.URL(c.Upstream), mockserver.Reachable(listener.Addr())) // nobody may be reading
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("proxy: %w", err)
	}
	if f := files["record"]; f != nil {
		if err := p.WriteRecording(f); err != nil {
			return fmt.Errorf("--record: %w", err)
		}
	}
	_, _ = fmt.Fprintln(e.out, p.Summary())
	if p.Violations() > 0 {
		return &exit{exitFailed, errors.New("")}
	}
	return nil
}
