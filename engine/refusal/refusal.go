// Package refusal names the kinds of refusal that the packages of the engine
// share, so that a package below the engine refuses as the engine does.
//
//	return fmt.Errorf("queue %q: not found: %w", name, refusal.NotFound)
//
// Callers ask with errors.Is for the kind and never read the text. The package
// chooses no status and knows no wire.
package refusal

import "errors"

// The kinds. Each is wrapped with what was refused, which value, and the rule.
var (
	NotFound = errors.New("not found")
	Exists   = errors.New("exists already")
	Invalid  = errors.New("invalid")
	Ended    = errors.New("ended")
	Full     = errors.New("no room")
	Unfit    = errors.New("does not fit the index")
	Closed   = errors.New("closed")

	NotDurable = errors.New("not durable") // the journal has failed
)
