// Package mockserver is the stand-in over HTTP, both ways: it answers the
// interface, and it delivers.
//
//	u := mockserver.RunT(t) // own port, manual clock, closed by t.Cleanup
//
// # A request
//
// Routes come from the OpenAPI document and from nowhere else. Each request
// passes, in this order: recover, make the names of the request's dialect neutral, journal,
// route, authenticate (as the operation's security says), check the request,
// handler, check the response. A handler reads, calls the engine once, and
// returns; pipeline.go writes the answer, package response chooses a failing status.
//
// # A delivery
//
// The engine hands over an Attempt with no lock held: package delivery adds headers
// and signature, asks the stubs, applies rewrites, calls over HTTP, and gives
// the Outcome back. The delivery journal keeps both.
//
// # A look
//
// The control API (spec/control.yaml, package control) is for
// testers; package ui is the web page over it, and as.go lets both call the
// interface without credentials.
//
// It keeps nothing on disk and decides nothing: behaviour is in package engine.
package mockserver
