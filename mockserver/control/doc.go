// Package control answers the operations of the control API (spec/control.yaml),
// by which testers look at a server and move it: clocks, journals, stubs, faults,
// and all that is known of messages and runs.
//
//	service := control.New(control.Server{Tenants: tenants, ...})
//	for id, handle := range control.Handlers() { ... handle(service, c) ... } // c: *call.Call
//
// Each noun is a file with its handlers and their rows. To add an operation: describe
// it in spec/control.yaml, and write its handler with a row beside it; the server does
// not start while one of them lacks the other. What a handler needs of the server
// stands in Server. The accounts do the rest: the package keeps the counts of the
// sinks, and nothing else.
package control
