// Package mockserver is the stand-in over HTTP, both ways: it answers the
// interface, and it delivers.
//
//	u := mockserver.RunT(t) // own port, manual clock, closed by t.Cleanup
//
// # A request
//
// All routes come from the OpenAPI documents. Each request passes, in this
// order: recover, make the names of the request's dialect neutral, journal,
// route, authenticate (as the operation's security says), check the request,
// handler, check the response. A handler reads the call, calls the engine once
// (a second call would not be atomic with the first), and returns. pipeline.go
// writes the answer; package response maps errors to statuses.
//
// # A delivery
//
// The engine passes an Attempt without holding its lock: package delivery adds
// headers and signature, looks for a stub, applies rewrites, sends the request,
// and returns the Outcome. The delivery journal keeps both.
//
// # A look
//
// The control API (spec/control.yaml, package control) is for
// testers; package ui is the web page over it, and as.go lets both call the
// interface without credentials.
//
// The package writes nothing to disk itself (Config.Store does) and has no
// rules of the service: behaviour is in package engine.
package mockserver
