package engine

import "errors"

// The errors of the engine. Each is wrapped with what was wrong, which value,
// and what is accepted.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrInvalid  = errors.New("invalid")
	ErrEnded    = errors.New("ended")
	ErrFull     = errors.New("no room")
	ErrUnfit    = errors.New("does not fit the index")
	ErrClosed   = errors.New("closed")
)
