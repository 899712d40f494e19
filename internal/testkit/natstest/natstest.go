// Package natstest starts JetStream servers within the process of a test.
//
//	address := natstest.Run(t)
//
// Tests that kill servers start them as processes (package programs).
package natstest

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TB is the part of testing.TB that is used.
type TB interface {
	Helper()
	Fatal(args ...any)
	TempDir() string
	Cleanup(f func())
}

// readyWithin is the time limit for the start of a server on a busy machine.
const readyWithin = 20 * time.Second

// Options are the options of a single server on a free port.
func Options(t TB) *server.Options {
	return &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}
}

// Run starts a single server, which ends with the test, and returns its URL.
func Run(t TB) string {
	t.Helper()
	s := Start(t, Options(t))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s.ClientURL()
}

// Start starts a server, which the caller must shut down. It replaces the port RANDOM_PORT in
// o by the actual port.
func Start(t TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(readyWithin) {
		t.Fatal("the server does not answer")
	}
	return s
}
