// Package delivery makes the attempts of accounts over HTTP.
//
//	d := delivery.New(delivery.Config{Own: listeners, MaxResponse: delivery.DefaultMaxResponse, ...})
//	outcome := d.To(tenants, t)(ctx, attempt)
//
//	Attempt ─► headers, signature ─► faults ─► stubs ─► rewrites ─► network ─► Outcome
//	                                                                   └─► journal of deliveries
//
// The engine decides whether, when and how often an attempt is made, and handles its
// outcome. Connections are kept; a request on a kept connection that the destination
// has closed is repeated once. Both ends of a connection to a listener of the same
// server are known, so that a server distinguishes its own deliveries from all other
// requests: see Made.
package delivery
