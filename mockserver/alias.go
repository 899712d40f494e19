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

// What a test states and reads, by the names that it knows.
type (
	// Condition is what a caller waits for, see control.Condition.
	Condition = control.Condition
	// Delivery is one attempt, as it went over the wire.
	Delivery = journal.Delivery
	// Exchange is one request to the interface and its answer.
	Exchange = journal.Exchange
	// Fault is a rule that makes something go wrong: on our own API, or on the
	// deliveries of an account. The first rule that fits and is due decides.
	Fault = fault.Rule
	// Message is one half of an exchange.
	Message = journal.Message
	// Stub is a scripted destination, see stub.Stub.
	Stub = stub.Stub
	// Answer is one scripted answer of a stub.
	Answer = stub.Answer
	// StubStatus is a status, or text with captures that becomes one.
	StubStatus = stub.Status
)

// ParseStub reads URL=STATUS[:BODY]; the URL may hold = itself.
func ParseStub(text string) (Stub, error) { return stub.Parse(text) }

// Reachable is an address that a client on this machine can use: a listener on
// all interfaces has none of its own, but takes those of IPv4 loopback.
func Reachable(addr net.Addr) string { return listener.Reachable(addr) }

// EmbedHash is the value of Config.Embed that turns texts into vectors by
// hashing their words.
const EmbedHash = vectors.EmbedHash

// ParseVectorIndex reads NAME=TYPE[:DIMENSION[:FUNCTION]], such as
// docs=DENSE:1536:COSINE, words=SPARSE or both=HYBRID:384:DOT_PRODUCT.
func ParseVectorIndex(text string) (vector.Config, error) { return vectors.ParseIndex(text) }
