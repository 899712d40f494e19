// Package view has the read-only views of an account: pages of the log, of messages, runs
// and the DLQ, the steps of a run and its time axis, and explanations of states.
//
//	seen := &view.Account{State: s, Wire: wire, Parallel: 256}
//	page, err := seen.Events(view.Filter{Count: 10})
//
// It reads a state and never changes it (reading_test.go of the engine). The engine calls
// it under the lock. Results stay valid after the lock is released, because they are copies
// whose parts never change. Values that must not be shown are redacted.
package view
