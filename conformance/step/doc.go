// Package step is what the lines of the feature files do: one method for each, in
// a file for each area, with the table of their patterns at its top.
//
//	suite := godog.TestSuite{TestSuiteInitializer: func(c *godog.TestSuiteContext) { step.Register(c.ScenarioContext()) }}
//
// A Scenario is a harness.Scenario and what its steps remember from one line to the
// next. A Given prepares and judges nothing: what fails there makes the scenario
// inconclusive. A When acts, and keeps the response. A Then judges what came of it.
//
// # What it does not do
//
// It sends nothing itself and reads no clock: that is for the harness. It does not
// know which scenarios run, nor what a result means for a profile.
package step
