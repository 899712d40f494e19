package engine

import "github.com/understudy-mock/understudy/engine/refusal"

// The errors of the engine. Each is wrapped with what was wrong, which value,
// and what is accepted.
var (
	ErrNotFound = refusal.NotFound
	ErrExists   = refusal.Exists
	ErrInvalid  = refusal.Invalid
	ErrEnded    = refusal.Ended
	ErrFull     = refusal.Full
	ErrUnfit    = refusal.Unfit
	ErrClosed   = refusal.Closed

	ErrNotDurable = refusal.NotDurable
)
