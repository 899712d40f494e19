package mockserver

import (
	"net"

	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/fault"
	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/listener"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/vectors"
)

// Types of other packages that tests in Go use, so that they import this
// package only.
type (
	// Condition is what a caller waits for, see control.Condition.
	Condition = control.Condition
	// Delivery is one attempt: the request as it was sent, and the answer.
	Delivery = journal.Delivery
	// Exchange is one request to the interface and its answer.
	Exchange = journal.Exchange
	// Fault is a rule that injects failures into the API of the stand-in or
	// into the deliveries of an account. The first rule that matches and is due
	// applies.
	Fault = fault.Rule
	// Message is one half of an exchange.
	Message = journal.Message
	// Stub is a scripted destination, see stub.Stub.
	Stub = stub.Stub
	// Answer is one scripted answer of a stub.
	Answer = stub.Answer
	// StubStatus is an HTTP status, or a text with captures of the URL, such as
	// ${1}, that yields one.
	StubStatus = stub.Status
)

// ParseStub reads URL=STATUS[@DELAY][:BODY]; the URL may itself contain =.
func ParseStub(text string) (Stub, error) { return stub.Parse(text) }

// Reachable is the address, host:port, at which clients on this machine reach a
// listener. For a listener on all interfaces it is IPv4 loopback.
func Reachable(addr net.Addr) string { return listener.Reachable(addr) }

// EmbedHash is the value of Config.Embed that turns texts into vectors by
// hashing their words.
const EmbedHash = vectors.EmbedHash

// ParseVectorIndex reads NAME=TYPE[:DIMENSION[:FUNCTION]], such as
// docs=DENSE:1536:COSINE, words=SPARSE or both=HYBRID:384:DOT_PRODUCT.
func ParseVectorIndex(text string) (vector.Config, error) { return vectors.ParseIndex(text) }
