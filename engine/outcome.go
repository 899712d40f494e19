package engine

import (
	"fmt"
	"time"
)

// failureText is the error text of a failed attempt.
func failureText(o *Outcome) string {
	if o.Err != "" {
		return o.Err
	}
	text := fmt.Sprintf("destination answered status %d", o.Status)
	if o.Note != "" {
		text += "; " + o.Note
	}
	return text
}

// FailedAttempt is what follows from an attempt that failed: another one at NextAt, or
// none.
type FailedAttempt struct {
	Message *Message // as it stood then
	Outcome *Outcome
	NextAt  time.Time     // zero: no attempt is left
	Wait    time.Duration // until then
	DLQID   string        // where the message or the run is now
	Run     *RunRef       // that has failed with the message
}

func (a *Account) failed(f FailedAttempt) {
	if a.cfg.Failed != nil {
		m := *f.Message
		f.Message = &m
		a.later(func() { a.cfg.Failed(f) })
	}
}
