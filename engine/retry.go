package engine

import (
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// minWait is the minimum interval between two attempts of a message, so that a
// wait of 0 does not keep the server busy.
const minWait = time.Millisecond

// retry sets the timer for the next attempt.
func (a *Account) retry(m *Message, o *Outcome) {
	wait, rule := a.retryWait(m, o)
	wait = max(wait, minWait)
	a.touch(m)
	m.Retried++
	at := a.state.Now.Add(wait)
	m.Last = o.Brief()
	a.move(m, Retry, state.LogEntry{Next: at.UnixMilli(), LogDetail: &state.LogDetail{Rule: rule}})
	a.failed(FailedAttempt{Message: m, Outcome: o, Wait: wait})
	a.waitUntil(m, at)
}

// FailedAttempt describes a failed attempt and its consequence: another attempt
// after Wait, or none.
type FailedAttempt struct {
	Message *Message // as it was then
	Outcome *Outcome
	At      time.Time     // on the clock of the account
	Wait    time.Duration // 0: no attempt is left
	DLQID   string        // of the entry for the message or the run; "" while attempts are left
}

// failed copies the message under the lock, because it is reported later, when
// the message may have changed.
func (a *Account) failed(f FailedAttempt) {
	if a.cfg.Failed != nil {
		f.Message, f.At = new(*f.Message), a.state.Now
		a.later(func() { a.cfg.Failed(f) })
	}
}

// defaultFormula is parsed before the first retry: most programs never make one.
var defaultFormula = sync.OnceValue(func() *state.Formula {
	f, _ := state.ParseFormula(state.DefaultRetryDelay) // valid: the tests retry
	return f
})

// headerName is the name of a header for texts about a message or run with
// these options: that of its dialect.
func (a *Account) headerName(o *Options, name string) string {
	if a.cfg.HeaderName == nil {
		return name
	}
	return a.cfg.HeaderName(o.Dialect, name)
}

// retryWait returns the wait before the next attempt of m, and the rule that it
// comes from, for the log. m.Retried is the number of retries so far.
func (a *Account) retryWait(m *Message, o *Outcome) (wait time.Duration, rule string) {
	if name, wait, ok := retryAfter(o.Header, a.state.Now); ok {
		return wait, name
	}
	if f := m.Options.RetryDelay; f != nil {
		return f.Delay(int(m.Retried)), a.headerName(m.Options, "Retry-Delay") + " " + f.String()
	}
	return defaultFormula().Delay(int(m.Retried)).Truncate(time.Second), "backoff" // whole seconds (decided: 31)
}

// resetHeaders are the headers of a response that may set the wait, in order of
// precedence (wire.md, "Retries").
var resetHeaders = []string{"Retry-After", "X-Ratelimit-Reset", "X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens"}

// retryAfter reads the wait that a destination requests: seconds, a duration
// such as 6m5s, or an HTTP date. It ignores a wait of more than one day.
func retryAfter(h Header, now time.Time) (name string, wait time.Duration, ok bool) {
	for _, name := range resetHeaders {
		v := h[textproto.CanonicalMIMEHeaderKey(name)]
		if len(v) == 0 {
			continue
		}
		if wait, ok := parseWait(strings.TrimSpace(v[0]), now); ok && wait <= state.MaxWait {
			return name, wait, true
		}
	}
	return "", 0, false
}

// parseWait refuses a negative wait; a date in the past is a wait of 0. The comparison is
// negated because ParseFloat accepts NaN, for which every comparison is false.
func parseWait(s string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		if !(seconds >= 0 && seconds <= 10*state.MaxWait.Seconds()) {
			return 0, false
		}
		return time.Duration(seconds * float64(time.Second)), true
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d, d >= 0
	}
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, s); err == nil {
			return max(0, t.Sub(now)), true
		}
	}
	return 0, false
}
