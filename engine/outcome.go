package engine

import (
	"time"
)

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

// failed copies the message now: it is reported after the lock, when it may have changed.
func (a *Account) failed(f FailedAttempt) {
	if a.cfg.Failed != nil {
		m := *f.Message
		f.Message = &m
		a.later(func() { a.cfg.Failed(f) })
	}
}
