package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"

	"github.com/understudy-mock/understudy/conformance/proxy"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// ProxyCmd runs a proxy that checks an implementation against the OpenAPI document.
type ProxyCmd struct {
	Upstream  string     `placeholder:"URL" help:"The implementation behind the proxy. Default: target.urls.base of --target."`
	Target    string     `placeholder:"FILE" help:"Target file, whose bindings name what the document leaves open."`
	Addr      string     `default:"127.0.0.1:8081" help:"Address to listen on; port 0 takes a free port."`
	Report    string     `placeholder:"FILE" help:"On exit, write each kind of violation as a line of JSON, with its count and first exchange."`
	Record    string     `placeholder:"FILE" help:"On exit, write the requests, and stubs that replay the upstream, as YAML; secrets are masked."`
	FailOn    spec.Basis `default:"stated" enum:"stated,implied" help:"Which violations cause exit code 1: stated, or implied as well."`
	Dialect   string     `default:"auto" help:"Naming of the interface: auto (the target file's, or each request by its own names), svc, upstash, or a YAML file."`
	LogLevel  string     `default:"info" help:"debug, info, warn, error."`
	LogFormat string     `default:"text" enum:"text,json" help:"text or json."`
}

// Run passes traffic through until a signal stops it. Exit code 1 means that something
// violated the document.
func (c *ProxyCmd) Run(e *env) error {
	cfg, err := c.config(e)
	if err != nil {
		return err
	}
	files := map[string]*os.File{}
	for flag, file := range map[string]string{"report": c.Report, "record": c.Record} {
		if file == "" {
			continue
		}
		f, err := os.Create(file)
		if err != nil {
			return usageError("--%s: %w", flag, err)
		}
		defer func() { _ = f.Close() }() // the writer reports errors
		files[flag] = f
	}
	cfg.Record = files["record"] != nil
	p, err := proxy.New(cfg)
	if err != nil {
		return usageError("%w", err)
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return usageError("proxy: %w", err)
	}
	if err := e.serve("proxy", listener, p, fmt.Sprintf("A proxy before %s is running at http://%s", mask.URL(cfg.Upstream.String()), mockserver.Reachable(listener.Addr()))); err != nil {
		return err
	}
	for flag, write := range map[string]func(io.Writer) error{"report": p.WriteReport, "record": p.WriteRecording} {
		if f := files[flag]; f != nil {
			if err := write(f); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	_, _ = fmt.Fprintln(e.out, p.Summary())
	if p.Failed() {
		return command.Fail(command.ExitFailed, errors.New(""))
	}
	return nil
}

// config reads the flags and the target file.
func (c *ProxyCmd) config(e *env) (proxy.Config, error) {
	cfg := proxy.Config{FailOn: c.FailOn}
	if c.Target != "" {
		t, err := target.Load(c.Target)
		if err != nil {
			return cfg, usageError("%w", err)
		}
		cfg.Bindings = t.Bindings
		c.Upstream = cmp.Or(c.Upstream, t.Target.URLs.Base)
	}
	if c.Upstream == "" {
		return cfg, usageError("--upstream: missing: must be the URL of the implementation, unless --target names it")
	}
	var err error
	if cfg.Upstream, err = url.Parse(c.Upstream); err != nil || cfg.Upstream.Host == "" || cfg.Upstream.Scheme != "http" && cfg.Upstream.Scheme != "https" {
		return cfg, usageError("--upstream: invalid value %q: must be an http(s) URL", mask.URL(c.Upstream))
	}
	if cfg.Dialect, err = dialectNamed(c.Dialect); err != nil {
		return cfg, usageError("--dialect: %w", err)
	}
	cfg.Log, err = e.logger(c.LogLevel, c.LogFormat)
	return cfg, err
}
