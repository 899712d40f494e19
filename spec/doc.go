// Package spec is the contract as data: the OpenAPI document that routes and
// checks every request, the control API's document, the requirements of the
// interface document, and the dialects.
//
//	doc, err := spec.Load()
//	op := doc.Operation("publishMessage")
//	problems := op.CheckRequest(r, vars, r.URL.Query(), body)
//
// # Origin of operations
//
// Every operation declares its origin in x-origin: documented (the interface document
// describes it), decided (the document leaves it open and this project decided), or
// extension (the document lacks it). The suite fails no implementation because of the latter two.
//
// # How to add an operation
//
// Put it into openapi.yaml with an operationId, a tag, an x-origin and $refs to
// parameters and schemas. Mark a parameter whose value may contain slashes with
// x-greedy, and describe valid values in x-accepted. Run `make generate`. The server
// then refuses to start until its table has a handler for the operationId.
//
// The package imports only its sub-packages of this repository. It does no routing
// and does not depend on a server.
package spec
