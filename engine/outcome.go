package engine

import (
	"time"
)

// FailedAttempt describes a failed attempt and its consequence: another attempt
// at NextAt, or none.
type FailedAttempt struct {
	Message *Message // as it was then
	Outcome *Outcome
	NextAt  time.Time     // zero: no attempt is left
	Wait    time.Duration // until then
	DLQID   string        // of the entry for the message or the run; "" while attempts are left
	Run     *RunRef       // the run that has failed with the message, nil for none
}

// failed copies the message under the lock, because it is reported later, when
// the message may have changed.
func (a *Account) failed(f FailedAttempt) {
	if a.cfg.Failed != nil {
		m := *f.Message
		f.Message = &m
		a.later(func() { a.cfg.Failed(f) })
	}
}
