// Package spec is the contract as data: the OpenAPI document that routes and
// checks every request, the control API's document, the requirements of the
// interface document, and the dialects.
//
//	doc, err := spec.Load()
//	op := doc.Operation("publishMessage")
//	problems := op.CheckRequest(r, vars, body)
//
// # What is law
//
// Every operation says where it comes from: x-origin documented (the interface
// document says so), decided (it leaves it open, and this project settled it),
// extension (it lacks it). The suite fails nobody for the latter two.
//
// # How to add an operation
//
// Put it into openapi.yaml with an operationId, a tag, an x-origin and $refs to
// parameters and schemas; mark a parameter that swallows slashes x-greedy and
// describe what it takes in x-accepted. Run `make generate`. The server then
// refuses to start until a handler of that operationId stands in its table.
//
// The package imports nothing of ours, routes nothing and knows no server.
package spec
