// Package harness is what all scenarios of the suite share: a client with the credentials of the
// target, endpoints that receive its deliveries, a clock, drivers, and the evidence for reports.
//
//	suite := harness.NewSuite(ctx, harness.Config{Target: target}, document)
//	scenario, err := suite.Begin(ctx, report.Result{Name: "a message arrives"})
//	response, err := scenario.Do(harness.Request{Operation: "publishMessage"})
//
// A Suite is the state that the scenarios of a run share. A Scenario is the state of one
// scenario; scenarios share none of it. The packages of steps embed it and add the state of
// their steps.
//
// # What an error means
//
// A *report.Failure is a verdict on the target. NoVerdict ends a scenario without one: the
// target file lacks something that the scenario needs, a precondition does not hold, or the
// suite is at fault. Prerequisite converts a failure of a precondition to a NoVerdict.
//
// # What it does not do
//
// It implements no step of a feature file: the packages of steps do.
package harness
