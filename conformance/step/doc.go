// Package step implements the steps of the feature files: one method per step, one or more
// files per area. A table in the first file of each area maps patterns to methods.
//
//	suite := godog.TestSuite{TestSuiteInitializer: func(c *godog.TestSuiteContext) { step.Register(c.ScenarioContext()) }}
//
// A Scenario is a harness.Scenario with the state that its steps share. A Given step
// prepares; an error there usually makes the scenario inconclusive (Scenario.Assume).
// A When step acts and keeps the response. A Then step judges the result. A step that is made
// of others calls them in turn (harness.InTurn).
//
// # What it does not do
//
// It sends no requests and reads no clock itself: the harness does. It does not select
// scenarios, and does not derive the verdict of a profile from their results.
package step
