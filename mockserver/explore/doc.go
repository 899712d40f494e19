// Package explore runs a scenario of an application again and again, each time with one or two
// things that an at-least-once service may do, and finds the smallest plan after which the
// application does something else than without it.
//
//	scenario ─► case: reset, plan, steps, run until idle ─► observation
//	                    │                                       │
//	                conductor                                oracles ─► findings
//	      one delivery at a time, in a fixed order
//
// A point is a place where the service has a choice: an attempt of a delivery, or a call of the
// application to the service. Its name says why it exists, and contains no id, port or time, so
// that it is the same in each case. A plan is a list of points with the fault of each.
//
// The package knows the engine, but not the server: a Service is the part of a server that it
// needs, an App is the application, and a Scenario is what happens from outside.
package explore
