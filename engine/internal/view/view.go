package view

import (
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// Wire is what views need of the wire. Its methods are pure functions.
type Wire interface {
	// ReadAnswer finds what a destination's answer says beside its status.
	ReadAnswer(o *state.Outcome) state.Answer
	// PublishedName is the name under which a publisher sends a header that is for
	// the destination.
	PublishedName(name string) string
	// RunHeader is what every call to the endpoint of a run carries.
	RunHeader(run *state.Run, starts bool) state.Header
}

// Account is an account as its readers see it: a state, and what it does not say.
type Account struct {
	State      *state.State
	Wire       Wire
	HeaderName func(o *state.Options, name string) string                                 // a header in texts
	RetryWait  func(m *state.Message, o *state.Outcome) (wait time.Duration, rule string) // until the next attempt
	Parallel   int                                                                        // attempts at once
}
