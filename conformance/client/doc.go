// Package client judges client libraries of the interface, in any language. It starts a small
// program of the library's author, the adapter, and is the service that the library talks to:
//
//	session, err := client.Start(ctx, client.Config{Command: "node adapter.mjs"})
//	result := session.Run(ctx, &cases[0])
//
// An adapter reads calls as lines of JSON from standard input and writes one answer for each
// (spec/client-protocol.schema.json). The service is a recorder with scripted replies: it knows
// neither the engine nor the stand-in.
//
//	case (cases/*.yaml) -> lane -> adapter -> library -> recorder -> judge
//
// A case is data: a call, the replies, and what the requests and the answer of the library must be.
// A lane is one adapter process with its listeners. Lanes run at the same time, the cases of a
// lane one after the other, so that each request belongs to one case.
//
// Nothing waits in order to see that something does not happen: another call on the same client,
// the sentinel, shows that it did not.
//
// It does not select cases and makes no report: package conformance does both, as for servers.
package client
