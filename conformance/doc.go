// Package conformance runs the scenarios of package features against any
// implementation that is reachable over HTTP, and reports for each requirement of the
// interface document whether it holds.
//
//	report, err := conformance.Run(ctx, conformance.Config{Target: target})
//	os.Exit(report.ExitCode())
//
// # How a scenario is run
//
// Scenarios are selected by profile, basis, tag and capability; an empty selection is
// an error. Each scenario gets a value with a client that authenticates to the
// target, a separate path at the receiver of the run, and, if a driver of the target
// can create one, a separate account. Steps are methods of that value. All requests
// and responses are recorded, checked against the OpenAPI document, and printed when
// the scenario fails.
//
// # What a result means
//
// Only a requirement that the interface document states can fail a target. An implied
// requirement warns (or fails, with Strict); an open one is observed. A scenario that
// cannot be judged, because the target file has no driver or binding for it, is
// inconclusive. It makes its profile partial: neither passed nor failed.
//
// A scenario that failed runs again from its start. If it passes then, it is unreliable,
// and its profile is partial.
//
// # Time
//
// No check relies on sleeping. With a clock driver, the suite moves the time. Without
// one, it measures lower bounds at the receiver, takes upper bounds from budgets in
// the target file, and proves absence by a sentinel message that arrives on another route.
// What the target has not shown in several whole budgets is no longer waited for.
//
// # What it does not do
//
// It does not access the inside of a server: it imports neither the engine nor the
// stand-in, as a test of the command checks.
package conformance
