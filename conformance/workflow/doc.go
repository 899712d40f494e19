// Package workflow is the other side of a workflow: an endpoint that speaks the
// protocol of published workflow clients, does the steps of a script, and fails
// where the script says so.
//
//	peer := workflow.NewPeer(scenario, "the workflow", workflow.Step{Name: "charge", Kind: "Run"})
//
// # What it does not do
//
// It starts no run: a driver of the target does. A target whose workflows speak
// another protocol brings its own endpoint with that driver.
package workflow
