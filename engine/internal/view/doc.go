// Package view is what callers see of an account: pages of the log, of messages, runs and
// the DLQ, the steps of a run and its time axis, and why something is as it is.
//
//	seen := &view.Account{State: s, Wire: wire, Parallel: 256}
//	page, err := seen.Events(view.Filter{Count: 10})
//
// It reads a state and changes nothing, so that a look never decides what happens next
// (reading_test.go of the engine). What it gives stays true when the lock is free again:
// copies of values whose parts are never changed, with what must not be shown redacted.
// The engine calls it under the lock.
package view
