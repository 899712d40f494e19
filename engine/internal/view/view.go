package view

import (
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// Wire is the part of the wire format that views need. Its methods are pure functions.
type Wire interface {
	// ReadAnswer reads what the response of a destination says besides its status.
	ReadAnswer(o *state.Outcome) state.Answer
	// Carries reports whether a header of a publish or of a delivery has the value of the
	// header that the destination receives as name.
	Carries(header, name string) bool
	// RunHeader returns the headers of every call to the endpoint of a run.
	RunHeader(run *state.Run) state.Header
}

// Account is a read-only account: its state, and what the state does not contain.
type Account struct {
	State      *state.State
	Wire       Wire
	HeaderName func(o *state.Options, name string) string                                 // name of a header in texts
	RetryWait  func(m *state.Message, o *state.Outcome) (wait time.Duration, rule string) // until the next attempt
	Parallel   int                                                                        // largest number of concurrent attempts
}
