// Package workflow implements the other side of a workflow: an endpoint that uses the
// protocol of published workflow clients, executes the steps of a script, and fails
// where the script says so.
//
//	peer := workflow.NewPeer(scenario, "the workflow", workflow.Step{Name: "charge", Kind: "Run"})
//
// # What it does not do
//
// It starts no runs: a driver of the target does. A target with another workflow
// protocol needs its own endpoint with that driver.
package workflow
