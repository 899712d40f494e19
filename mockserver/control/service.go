package control

import (
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// Server is what the control API needs of the server that it controls.
type Server struct {
	Tenants    *tenant.Registry
	Known      func(operation string) bool // that faults may name
	Wall       *clock.Real
	Done       <-chan struct{}             // closed when the server stops: ends streams and waits
	Access     func(*tenant.Tenant) Access // how clients reach an account
	Memory     func() Memory               // what the server holds now
	Trouble    func() string               // why the server is not ready; "": it is
	Version    func() string               // what the server says of itself
	Violations func() int                  // answers that broke the document
}

// Access is how clients reach an account, and what their environment should say.
type Access struct {
	URL        string
	Advertised bool // the URL was given by the configuration
	Env        []map[string]string
}

// Memory is what health says of the memory, in bytes. Bodies that several
// entries share count for each, so that the sums are upper bounds.
type Memory struct {
	Observations int64   `json:"observations"` // journals, log, answers
	Limit        int64   `json:"limit"`        // of --memory; what is counted stays below five eighths of it
	KeyValue     int64   `json:"keyValue"`     // data of the embedded key-value stores; up to a quarter of the limit
	Backlog      Backlog `json:"backlog"`
}

// Backlog is the work that is not done yet.
type Backlog struct {
	Messages      int64 `json:"messages"`                // not delivered yet
	MessagesLimit int64 `json:"messagesLimit,omitempty"` // 0: none
	Bytes         int64 `json:"bytes"`                   // of them, of the DLQ, of runs that have not ended, of schedules and vectors
	Limit         int64 `json:"limit"`                   // of bytes
}

// Service answers the operations of the control API.
type Service struct {
	Server
	Sinks Sinks
}

// New controls a server.
func New(s Server) *Service { return &Service{Server: s} }

// Handler answers an operation.
type Handler func(*Service, *call.Call) (response.Response, error)

// handlerTable has the rows of all nouns; each file adds its own.
var handlerTable = map[string]Handler{}

// registerHandlers adds the rows of a noun; the same operation twice is a mistake that must
// not go unnoticed.
func registerHandlers(rows map[string]Handler) map[string]Handler {
	for id, h := range rows {
		if handlerTable[id] != nil {
			panic("two handlers for operation " + id)
		}
		handlerTable[id] = h
	}
	return rows
}

// Handlers are all of them, by operation.
func Handlers() map[string]Handler { return handlerTable }
