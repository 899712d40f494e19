package main

import (
	"context"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/otlp"
)

// openTraces starts to export traces, if a flag or a variable of OpenTelemetry names a collector.
func (c *ServeCmd) openTraces(ctx context.Context, cfg *mockserver.Config) (err error) {
	if u, err := url.Parse(c.TraceURL); c.TraceURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !strings.Contains(c.TraceURL, "{traceId}")) {
		return usageError("--trace-url: invalid value %q: must be a URL with {traceId} in it", c.TraceURL)
	}
	named := c.OTLP != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	if !named || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil
	}
	c.spans, err = otlp.New(ctx, otlp.Config{Endpoint: c.OTLP, Version: mockserver.Version, Instance: strconv.Itoa(os.Getpid()), Log: cfg.Log})
	if err != nil {
		return usageError("--otlp: %w", err)
	}
	cfg.Observe = c.spans.Observe
	return nil
}

// closeTraces sends what is left.
func (c *ServeCmd) closeTraces() {
	if c.spans != nil {
		c.spans.Close()
	}
}
