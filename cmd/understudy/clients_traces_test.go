package main

import (
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/collector"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// tracedBy runs an instrumented application against a server that exports to the same collector, and
// returns the collector when both have ended.
func tracedBy(t *testing.T, dir string, env []string, command ...string) *collector.Collector {
	t.Helper()
	c := collector.New(t)
	t.Run("application", func(t *testing.T) { // at its end, the server has stopped
		server := serve(t, build(t), "--clock", "manual", "--otlp", c.URL)
		runClient(t, dir, slices.Concat(server.Env, env, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_SERVICE_NAME=shop"}), command[0], command[1:]...)
	})
	return c
}

var portOfHost = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// oneTrace checks that all spans belong to one trace.
func oneTrace(t *testing.T, c *collector.Collector) {
	t.Helper()
	for _, s := range c.Spans {
		expect.Equal(t, "trace of "+s.GetName(), hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(c.Spans[0].GetTraceId()))
	}
}

// TestClientsTracesFlask checks that a run of an instrumented workflow is one tree with its application.
func TestClientsTracesFlask(t *testing.T) {
	t.Parallel()
	const dir = "../../conformance/clients/traces"
	programs.Need(t, "the traces of a Flask application are NOT tested", "python3")
	modules := installPython(t, dir)
	c := tracedBy(t, dir, []string{"PYTHONPATH=" + modules, "PYTHONDONTWRITEBYTECODE=1"}, "python3", "workflow.py")
	oneTrace(t, c)
	expect.Equal(t, "tree", portOfHost.ReplaceAllString(c.Tree(), "HOST"), strings.TrimPrefix(`
checkout
  publish HOST/order
    POST HOST/order
      POST /order
      run HOST/order
        step pack
          POST HOST/order
            POST /order
              pack
        step rest
          POST HOST/order
            POST /order
        sleep rest
        step ship
          POST HOST/order
            POST /order
        end of the run
          POST HOST/order
            POST /order
`, "\n"))
}

// TestClientsTracesExpress checks that a message to an instrumented application is one tree with it.
func TestClientsTracesExpress(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("../../conformance/clients/traces", "express")
	programs.Need(t, "the traces of an Express application are NOT tested", "node", "npm")
	install(t, dir)
	c := tracedBy(t, dir, nil, "node", "app.mjs")
	oneTrace(t, c)
	expect.Equal(t, "tree", portOfHost.ReplaceAllString(c.Tree(), "HOST"), strings.TrimPrefix(`
order
  publish HOST/mail
    POST HOST/mail
      POST /mail
        request handler
          send mail
    retry
    POST HOST/mail
      POST /mail
        request handler
          send mail
`, "\n"))
}
