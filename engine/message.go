package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// DeliverNow makes a message that waits for a time due now, on behalf of the tester. Queues and
// flow control still apply. It returns ErrInvalid for a message that waits for something else.
func (a *Account) DeliverNow(id string) error { return do(a, deliverNow{id}) }

type deliverNow struct{ ID string }

// apply refuses a message that a queue or a flow-control key holds, because it
// would overtake the messages before it.
func (c deliverNow) apply(a *Account) error {
	m := a.state.Messages[c.ID]
	if m == nil {
		return unknownMessage(c.ID)
	}
	if !m.Planned() {
		return refusal.Of(ErrInvalid, "message", c.ID, "is "+string(m.State)+" and waits for no time")
	}
	a.touch(m)
	a.state.Timers.Remove(m)
	m.NextAt = state.TimestampOf(a.state.Now)
	a.due(m)
	a.changed()
	return nil
}

// Message returns a message that has not ended, or ErrNotFound: ended messages
// are in the log only.
func (a *Account) Message(id string) (Message, error) {
	a.lock()
	defer a.unlock()
	m := a.state.Messages[id]
	if m == nil {
		return Message{}, unknownMessage(id)
	}
	return a.showMessage(m), nil
}

// unknownMessage explains why a message may be missing: the account drops a
// message that has ended, while clients still have its id.
func unknownMessage(id string) error {
	return refusal.Of(ErrNotFound, "message", id, "not found; it may have been delivered, cancelled or moved to the DLQ")
}

// Redaction returns what the options of a run and of a group redact; nil for nothing. An
// empty or unknown name has no options.
func (a *Account) Redaction(runID, group string) (r *Redaction) {
	a.lock()
	defer a.unlock()
	if run := a.state.Runs[runID]; run != nil {
		r = run.Options.Redact
	}
	if g := a.state.Groups[group]; g != nil {
		r = r.And(g.Options.Redact)
	}
	return r
}

// Cancel stops a message: at once when it waits, otherwise when its attempt ends.
func (a *Account) Cancel(id string) error { return do(a, cancel{id}) }

type cancel struct{ ID string }

func (c cancel) apply(a *Account) error {
	m := a.state.Messages[c.ID]
	if m == nil {
		return unknownMessage(c.ID)
	}
	a.cancel(m)
	return nil
}

// maxBulk is the largest number of messages that one bulk cancel cancels.
const maxBulk = 10000

// CancelMessages cancels the messages that match and returns their number.
func (a *Account) CancelMessages(f Filter) (int, error) { return runCommand(a, cancelMessages{f}) }

type cancelMessages struct{ Filter Filter }

// apply cancels in order of creation, so that the limit excludes the same messages in replay.
func (c cancelMessages) apply(a *Account) (int, error) {
	if err := c.Filter.Check(); err != nil {
		return 0, err
	}
	n := 0
	for _, m := range sortedMessages(a.state.Messages) {
		if n == c.Filter.Limit(maxBulk) {
			break
		}
		if m.State != CancelRequested && m.RunID == "" && c.Filter.MatchesMessage(m, m.CreatedAt.Time()) {
			a.cancel(m)
			n++
		}
	}
	return n, nil
}

// cancel asks a message to stop.
func (a *Account) cancel(m *Message) {
	if m.State == CancelRequested {
		return
	}
	inFlight, active, held := m.InFlight, m.State == Active, m.Timer.Place == 0
	a.touch(m)
	a.move(m, CancelRequested, state.LogEntry{})
	m.Canceled = true
	switch {
	case inFlight:
		if stop := a.cancels[m]; stop != nil { // none in replay
			stop()
		}
		return
	case active: // a stub's outcome is pending, or a snapshot interrupted the attempt
		a.releaseFlow(m)
	case held && m.Options.Flow != nil && !(m.Options.Queue != "" && m.Slot == nil):
		a.unhold(m)
	}
	a.state.Timers.Remove(m)
	a.move(m, Canceled, state.LogEntry{})
	a.end(m)
}

// sortedMessages returns the messages in order of creation.
func sortedMessages(all map[string]*Message) []*Message {
	list := make([]*Message, 0, len(all))
	for _, m := range all {
		list = append(list, m)
	}
	slices.SortFunc(list, func(x, y *Message) int {
		return cmp.Or(cmp.Compare(x.CreatedAt, y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	return list
}
