// Package listener holds connections of clients to what a server can bear: they
// make progress, and they say one length for each request.
//
//	pace := listener.DefaultPace
//	server := pace.Server(handler)
//	err := server.Serve(pace.Listener(l, log))
//
// A body must arrive at a minimum rate, an answer must be read within a grace for
// each part, and a request with two lengths ends its connection (RFC 9112,
// section 11.2). A stream that says nothing for a while stays. Who speaks TLS to
// the port is named in the log. What requests mean is not looked at.
package listener
