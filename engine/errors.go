package engine

import "github.com/understudy-mock/understudy/engine/refusal"

// The errors of the engine, for errors.Is. Each is wrapped with a text that
// says what is wrong, with which value, and what it must be.
var (
	ErrNotFound = refusal.NotFound
	ErrExists   = refusal.Exists
	ErrInvalid  = refusal.Invalid
	ErrEnded    = refusal.Ended
	ErrFull     = refusal.Full
	ErrLoop     = refusal.Loop
	ErrUnfit    = refusal.Unfit
	ErrClosed   = refusal.Closed

	ErrNotDurable = refusal.NotDurable
)
