package engine

import (
	"fmt"
	"net/textproto"
	"strings"
	"time"
)

// statusNonRetryable, with its header set to true, ends a message at once
// (wire.md, "Retries").
const statusNonRetryable = 489

var nonRetryableHeader = textproto.CanonicalMIMEHeaderKey("Svc-NonRetryable-Error")

// final reports whether the destination asked for no further attempt.
func final(o *Outcome) bool {
	v := o.Header[nonRetryableHeader]
	return o.Status == statusNonRetryable && len(v) > 0 && strings.EqualFold(v[0], "true")
}

// failure is the error text of a failed attempt.
func failure(o *Outcome) string {
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
