// Package messaging has the operations of the interface, a file of handlers for each noun.
//
//	h := messaging.Handlers[op.ID]
//	out, err := h(&messaging.API{}, call)
//
// A handler reads the call, calls the engine once (a second call would not be atomic with the
// first), and returns the result as a body, with the fields that the interface document defines.
// Empty fields of bodies are absent and times are Unix ms. Contents are text, or base64 if they
// are not valid UTF-8. Names are the neutral ones, without the brand of a dialect. The server masks
// the credentials. The control API shows the same bodies.
package messaging

import (
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// API is what the handlers need of a server.
type API struct {
	Accounts     *tenant.Registry
	Strict       bool                    // unknown options are errors instead of warnings
	TraceContext bool                    // the trace context of publishers is kept
	MaxAnswer    int64                   // bytes of the vectors in one answer
	Embeds       func(index string) bool // whether a vector index computes vectors from texts; otherwise it refuses texts
}

type table = request.Table[*API]
