package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"

	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/agent"
	"github.com/understudy-mock/understudy/mockserver/control"
)

// The tools for coding agents are large, and Go tests do not need them.
func init() {
	parts := control.Attached()
	parts.Agents = func(api http.Handler) http.Handler { return agent.Handler(mockserver.Version, api) }
	control.Attach(parts)
}

// McpCmd serves the tools for coding agents on standard input and output.
type McpCmd struct {
	remote `embed:""`

	ReadOnly bool `help:"Offer only the tools that change nothing."`
}

// Run serves one session, until standard input ends. A server may start and stop meanwhile.
func (c *McpCmd) Run(e *env) error {
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var warned strings.Builder
		var answer json.RawMessage
		one, at := c.remote, *e
		r.Header.Del("Authorization")                                                // --control-token has it
		one.Account, one.header, at.ctx, at.err = "", r.Header, r.Context(), &warned // the query has the account
		err := one.call(&at, r.Method, strings.TrimPrefix(r.URL.EscapedPath(), "/_understudy/"), r.URL.Query(), r.Body, &answer)
		w.Header().Set("Understudy-Warning", strings.TrimPrefix(strings.TrimSpace(warned.String()), "understudy: warning: "))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			answer, _ = json.Marshal(map[string]string{"error": err.Error()}) // a text
		}
		_, _ = w.Write(answer) // kept in memory
	})
	transport, err := trustingTransport(c.CAFile)
	if err != nil {
		return usageError("--ca-file: %w", err)
	}
	c.client = &http.Client{Transport: transport}
	return agent.Serve(e.ctx, agent.Config{API: api, Base: c.URL.base(), Account: c.Account, ReadOnly: c.ReadOnly, Version: mockserver.Version}, os.Stdin, e.out)
}
