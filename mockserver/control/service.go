package control

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// Server is the dependencies of the control API on the server that it controls.
type Server struct {
	Tenants    *tenant.Registry
	Store      store.Store                 // keeps the accounts; nil: in memory only
	Fleet      Fleet                       // the servers that share the accounts
	Export     Exporter                    // of metrics; nil: none
	Known      func(operation string) bool // reports whether faults may name an operation
	Wall       *clock.Real
	Log        *slog.Logger
	Done       <-chan struct{}              // closed when the server stops: ends streams and waits
	Access     func(*tenant.Tenant) Access  // how clients reach an account
	Memory     func() Memory                // current memory use
	Trouble    func(context.Context) string // why the server is not ready; "": it is ready
	Version    func() string                // version of the server
	Flags      []string                     // see mockserver.Config
	Violations func() int                   // number of answers that violated the document
	TraceURL   string                       // of a trace, with {traceId} in it; "": none
	Traced     bool                         // messages have traces
}

// Exporter shows metrics in the format of a monitoring system.
type Exporter = func([]Metric) http.Handler

// Access is the URL of an account, and the environment variables for its clients.
type Access struct {
	URL        string
	Advertised bool // the URL was given by the configuration
	Env        []map[string]string
}

// Memory is the memory use of the server in bytes. Bodies shared by several entries
// count for each of them, so the sums are upper bounds.
type Memory struct {
	Observations int64   `json:"observations"` // journals, log, answers
	Limit        int64   `json:"limit"`        // value of --memory; observations stay below five eighths of it
	KeyValue     int64   `json:"keyValue"`     // data of the embedded key-value stores; up to a quarter of the limit
	Backlog      Backlog `json:"backlog"`
}

// Backlog is the size of the work that is not done yet.
type Backlog struct {
	Messages      int64 `json:"messages"`                // messages not yet delivered
	MessagesLimit int64 `json:"messagesLimit,omitempty"` // 0: no limit
	Bytes         int64 `json:"bytes"`                   // of these messages, the DLQ, open runs, schedules and vectors
	Limit         int64 `json:"limit"`                   // limit of Bytes
}

// Service handles the operations of the control API.
type Service struct {
	Server
	Sinks Sinks
}

type table = request.Table[*Service]

// FleetHost is the part of a server that its fleet uses.
type FleetHost struct {
	Accounts *tenant.Registry
	ReadBody func(http.ResponseWriter, *request.Call) error // so that a request can be sent again
	Made     func(*http.Request) bool                       // whether a request is a delivery
	Leaving  func()                                         // called when the server leaves
}
