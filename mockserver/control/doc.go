// Package control handles the operations of the control API (spec/control.yaml),
// with which testers inspect and control a server: clocks, journals, stubs, faults,
// messages and runs.
//
//	service := &control.Service{Server: control.Server{Tenants: tenants, ...}}
//	for id, handle := range control.Handlers { ... handle(service, c) ... } // c: *request.Call
//
// Each noun has a file with its handlers. To add an operation,
// describe it in spec/control.yaml, write its handler, and run `make generate`; the
// server does not start if one of them is missing. Server has the dependencies of the
// handlers. The only state of the package is the counts of the sinks.
package control
