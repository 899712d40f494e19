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

// RelayCmd runs a relay on a public host, for suites that the target cannot reach.
type RelayCmd struct {
	Addr  string `default:"127.0.0.1:8085" help:"Address to listen on; port 0 takes a free port."`
	Token string `required:"" name:"relay-token" placeholder:"T" help:"Token that suites must send: receiver.relay.token of the target file."`
}

// Run relays until a signal stops it.
func (c *RelayCmd) Run(e *env) error {
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return usageError("relay: %w", err)
	}
	return e.serve("relay", listener, &receiver.Relay{Token: c.Token}, "A relay is running at http://"+mockserver.Reachable(listener.Addr()))
}

// serve prints that a handler is running, and serves until the command ends.
func (e *env) serve(name string, listener net.Listener, h http.Handler, running string) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second}
	stop := context.AfterFunc(e.ctx, func() { _ = server.Close() }) // Serve returns then
	defer stop()
	_, _ = fmt.Fprintln(e.out, running) // there may be no reader
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
