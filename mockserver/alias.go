package mockserver

import "github.com/understudy-mock/understudy/mockserver/stub"

// What a test states and reads, by the names that it knows.
type (
	// Stub is a scripted destination, see stub.Stub.
	Stub = stub.Stub
	// Answer is one scripted answer of a stub.
	Answer = stub.Answer
	// StubStatus is a status, or text with captures that becomes one.
	StubStatus = stub.Status
)

// ParseStub reads URL=STATUS[:BODY]; the URL may hold = itself.
func ParseStub(text string) (Stub, error) { return stub.Parse(text) }
