// Package harness is what the scenarios of the suite work with, whatever they are
// about: a client that signs in to the target, endpoints where it delivers to, a
// clock, drivers, and the evidence that is kept.
//
//	suite := harness.NewSuite(ctx, harness.Config{Target: target}, document)
//	scenario, err := suite.Begin(ctx, report.Result{Name: "a message arrives"})
//	response, err := scenario.Do(harness.Request{Operation: "publishMessage"})
//
// A Suite is what the scenarios of one run share, a Scenario what one of them
// knows; nothing of a Scenario is shared. The packages of steps embed it, and add
// what their steps remember from one line to the next.
//
// # What an error means
//
// A *report.Failure is a verdict on the target. NoVerdict ends a scenario without
// one: the target file names no way to judge, what the scenario starts from does
// not work, or the suite is at fault. Prerequisite turns the first into the second.
//
// # What it does not do
//
// It judges nothing that a feature file says: that is for the steps.
package harness
