package engine

import (
	"slices"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// LastFailure is the latest failed attempt of a message or a run.
type LastFailure struct {
	Reason    string // as text: the step, the attempt, the result
	MessageID string
	URL       string
	Dialect   string // of the message, "" for the dialect of the account
	Step      string // that the attempt was for, "" if unknown
	Attempt   int    // from 1
	Attempts  int    // largest number of attempts
	OfRun     bool   // the failure of the message fails its run
	Retrying  bool   // another attempt will follow
	Outcome   state.Outcome
}

// failureOf returns the failure of a message; nil if its latest attempt did not fail.
func failureOf(m *state.Message, last *state.Outcome) *LastFailure {
	if last == nil {
		last = m.Last
	}
	if last == nil || last.Cause() == "" {
		return nil
	}
	attempt := int(m.Retried) + 1
	if m.State == state.Retry {
		attempt--
	}
	return &LastFailure{Reason: m.CauseOf(last), MessageID: m.ID, URL: m.URL, Dialect: m.Options.Dialect, Step: m.AttemptedStep(last), Attempt: attempt, Attempts: int(m.MaxRetries) + 1, OfRun: m.DecidesRun(), Retrying: m.State == state.Retry, Outcome: *last}
}

// messageFailure is failureOf for a message that waits for a retry or has failed; nil for
// any other.
func messageFailure(m *state.Message) *LastFailure {
	if m.State != state.Retry && m.State != state.Failed {
		return nil
	}
	return failureOf(m, nil)
}

// runFailure returns the failure that ended a run, or the one that a continuing run retries.
func (a *Account) runFailure(r *state.Run, events []*state.LogEntry) *LastFailure {
	if e := a.state.DLQ.Get(r.DLQID); e != nil {
		return failureOf(&e.Message, &e.Last)
	}
	for _, e := range slices.Backward(events) {
		m := e.Message
		switch {
		case m == nil || e.LogDetail == nil || e.Outcome == nil:
		case r.State == state.RunFailed && e.State == string(state.Failed) && m.DecidesRun():
			return failureOf(m, e.Outcome)
		case !r.Ended() && m.State == state.Retry && e.State == string(state.Errored):
			return failureOf(m, nil)
		}
	}
	return nil
}
