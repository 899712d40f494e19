// Package conformance is the judge: it runs the scenarios of package features
// against any implementation that is reachable over HTTP, and reports, for each
// requirement of the interface document, whether it holds.
//
//	report, err := conformance.Run(ctx, conformance.Config{Target: target})
//	os.Exit(report.ExitCode())
//
// # How a scenario is run
//
// The scenarios that are asked for are selected by profile, basis, tag and
// capability; a selection that is empty is an error. Each one gets a scenario
// value of its own: a client that signs in to the target, a path of its own at
// the one receiver of the run, and, where the target's driver can make one, an
// account of its own. Steps are methods of that value. Everything that was sent
// and received is kept, checked against the OpenAPI document, and printed when
// the scenario fails.
//
// # What a result means
//
// Only a requirement that the interface document states can fail a target. What
// it implies warns (or fails, with Strict), what it leaves open is observed. What
// could not be judged, because the target file names no way to do it, is
// inconclusive, and makes its profile partial: neither passed nor failed, and
// never green.
//
// # Time
//
// Nothing is proven by sleeping. With a clock driver, time is moved; without one,
// lower bounds are measured at the receiver, upper bounds are budgets of the
// target file, and absence is proven by a sentinel that arrives on another route.
//
// # What it does not do
//
// It never sees the inside of a server: it imports neither the engine nor the
// stand-in, and a test of the command holds it to that.
package conformance
