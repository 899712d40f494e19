package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/report"
)

// clientTools runs what a client developer asks for besides a verdict. done is false for a verdict.
func (c conformRun) clientTools(e *env) (done bool, err error) {
	switch {
	case c.ClientInit:
		_, err = e.out.Write(client.Skeleton)
		return true, err
	case c.Client == "" && (c.UpdateBaseline || c.ExpectedFailures != ""):
		return true, usageError("--client is missing: it is the command that starts the adapter")
	case c.Client != "" && c.Target != "":
		return true, usageError("--client excludes --target: one run judges one side")
	case c.UpdateBaseline && c.ExpectedFailures == "":
		return true, usageError("--update-baseline: --expected-failures is missing: it is the file to write")
	}
	return false, nil
}

// clientConfig is the configuration of the client to be judged.
func (c conformRun) clientConfig() *client.Config {
	return &client.Config{
		Command: c.Client, Env: c.ClientEnv, Dialect: c.Dialect, CallTimeout: c.CallTimeout, Listen: c.ClientListen, Host: c.ClientHost, Slow: c.Slow,
	}
}

// updateBaseline writes the failures of a run as known failures. Entries that were known keep their
// reasons.
func (c conformRun) updateBaseline(cfg *conformance.Config, r *report.Report) error {
	known, err := conformance.Known(*cfg)
	if err != nil {
		return noVerdict(err)
	}
	var b strings.Builder
	for _, k := range r.Failed(known) {
		fmt.Fprintf(&b, "- id: %q\n  reason: %q\n", k.ID, k.Reason)
		for _, more := range [][2]string{{"issue", k.Issue}, {"depends", k.Depends}} {
			if more[1] != "" {
				fmt.Fprintf(&b, "  %s: %q\n", more[0], more[1])
			}
		}
	}
	if b.Len() == 0 {
		b.WriteString("[]\n")
	}
	if err := os.WriteFile(c.ExpectedFailures, []byte(b.String()), 0o600); err != nil {
		return usageError("--update-baseline: %w", err)
	}
	return nil
}
