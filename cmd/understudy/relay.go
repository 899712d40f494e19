package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/mockserver"
)

// RelayCmd runs a relay on a public host, for suites that nobody can reach.
type RelayCmd struct {
	Addr  string `default:"127.0.0.1:8085" help:"Where to listen; port 0 takes a free one."`
	Token string `required:"" name:"relay-token" placeholder:"T" help:"What suites have to know: receiver.relay.token of the target file."`
}

// Run relays until it is told to stop.
func (c *RelayCmd) Run(e *env) error {
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return usageError("relay: %w", err)
	}
	server := &http.Server{Handler: &receiver.Relay{Token: c.Token}, ReadHeaderTimeout: 30 * time.Second}
	stop := context.AfterFunc(e.ctx, func() { _ = server.Close() }) // Serve returns then
	defer stop()
	_, _ = fmt.Fprintf(e.out, "A relay is running at http://%s\n", mockserver.Reachable(listener.Addr())) // nobody may be reading
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}
