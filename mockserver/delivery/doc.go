// Package delivery makes attempts over HTTP: it is what the accounts of a server
// deliver with.
//
//	d := delivery.New(delivery.Config{Own: listeners, MaxResponse: delivery.DefaultMaxResponse, ...})
//	outcome := d.To(tenants, t)(ctx, attempt)
//
//	Attempt ─► headers, signature ─► faults ─► stubs ─► rewrites ─► network ─► Outcome
//	                                                                   └─► journal of deliveries
//
// Whether, when and how often an attempt is made is decided by the engine, and
// what becomes of its outcome. Connections are kept; a request whose kept connection
// was closed meanwhile is made again, once. Both ends of a connection to a listener
// of the same server are known, so that a server tells its own deliveries from all
// other requests: see Made.
package delivery
