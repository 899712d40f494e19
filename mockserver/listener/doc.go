// Package listener limits the connections of clients: they must make progress, and
// each request must have one length.
//
//	pace := listener.DefaultPace
//	server := pace.Server(handler)
//	err := server.Serve(pace.Listener(l, nil, log))
//
// A body must arrive at a minimum rate. Each part of a response must be read within
// a grace period. A request with two lengths ends its connection (RFC 9112, section
// 11.2). A stream without events stays open. A port speaks plain HTTP, or TLS with
// HTTP/1.1; clients that use the other protocol are logged. The package does not
// interpret requests.
package listener
