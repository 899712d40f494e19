package main

import (
	"context"
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
	call := func(ctx context.Context, r agent.Request) (answer agent.Response, err error) {
		var warned strings.Builder
		one, at := c.remote, *e
		one.Account, one.header, at.ctx, at.err = "", r.Header, ctx, &warned // the query has the account
		err = one.call(&at, r.Method, r.Path, r.Query, r.Body, &answer.Body)
		answer.Warning = strings.TrimPrefix(strings.TrimSpace(warned.String()), "understudy: warning: ")
		return answer, err
	}
	transport, err := trustingTransport(c.CAFile)
	if err != nil {
		return usageError("--ca-file: %w", err)
	}
	c.client = &http.Client{Transport: transport}
	return agent.Serve(e.ctx, agent.Config{API: call, Base: c.URL.base(), Account: c.Account, ReadOnly: c.ReadOnly, Version: mockserver.Version}, os.Stdin, e.out)
}
