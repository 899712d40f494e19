package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// DeliverNow makes the next attempt of a message due now, as the tester, where it
// waits for a time; queues and flow control hold it as ever.
func (a *Account) DeliverNow(id string) error { return errorOnly(runCommand(a, deliverNow{id})) }

type deliverNow struct{ ID string }

// apply lets a message pass that waits for its time and nothing else: one that is held
// would overtake those before it.
func (c deliverNow) apply(a *Account) (nothing, error) {
	m := a.state.Messages[c.ID]
	if m == nil {
		return nothing{}, unknownMessage(c.ID)
	}
	if m.Timer.Place == 0 || m.State != Created && m.State != Retry {
		return nothing{}, refusal.Of(ErrInvalid, "message", c.ID, "is "+string(m.State)+" and waits for no time")
	}
	a.touch(m)
	a.state.Timers.Remove(m)
	m.NextAt = a.state.Now
	a.due(m)
	a.changed()
	return nothing{}, nil
}

// Message is a message that has not ended yet. A delivered one is gone.
func (a *Account) Message(id string) (Message, error) {
	a.lock()
	defer a.unlock()
	m := a.state.Messages[id]
	if m == nil {
		return Message{}, unknownMessage(id)
	}
	return *m, nil
}

// unknownMessage says what may have happened: an account forgets a message that has
// ended, and clients ask for it by the id that they were given.
func unknownMessage(id string) error {
	return refusal.Of(ErrNotFound, "message", id, "not found; it may have been delivered, cancelled or moved to the DLQ")
}

// Cancel stops a message: at once when it waits, else when its attempt ends.
func (a *Account) Cancel(id string) error { return errorOnly(runCommand(a, cancel{id})) }

type cancel struct{ ID string }

func (c cancel) apply(a *Account) (nothing, error) {
	m := a.state.Messages[c.ID]
	if m == nil {
		return nothing{}, unknownMessage(c.ID)
	}
	a.cancel(m)
	return nothing{}, nil
}

// CancelMessages cancels what matches and says how many that were.
func (a *Account) CancelMessages(f Filter) (int, error) { return runCommand(a, cancelMessages{f}) }

type cancelMessages struct{ Filter Filter }

// apply goes in order of creation, so that a limit cuts off the same messages in replay.
func (c cancelMessages) apply(a *Account) (int, error) {
	if err := c.Filter.Check(); err != nil {
		return 0, err
	}
	n := 0
	for _, m := range sortedMessages(a.state.Messages) {
		if n == c.Filter.Limit(maxBulk) {
			break
		}
		if m.State != CancelRequested && m.RunID == "" && c.Filter.MatchesMessage(m, m.CreatedAt) {
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
	inFlight, active, held := m.Cancel != nil, m.State == Active, m.Timer.Place == 0
	a.move(m, CancelRequested, state.LogEntry{})
	m.Canceled = true
	switch {
	case inFlight:
		m.Cancel()
		return
	case active: // a stub's outcome is on its way, or a snapshot cut the attempt off
		a.releaseFlow(m)
	case held && m.Options.Flow != nil && !(m.Options.Queue != "" && m.Slot == nil):
		a.unhold(m)
	}
	a.state.Timers.Remove(m)
	a.move(m, Canceled, state.LogEntry{})
	a.end(m)
}

// sortedMessages is in order of creation.
func sortedMessages(all map[string]*Message) []*Message {
	list := make([]*Message, 0, len(all))
	for _, m := range all {
		list = append(list, m)
	}
	slices.SortFunc(list, func(x, y *Message) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	return list
}
