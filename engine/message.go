package engine

import (
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// MessageState is a message-level log state (interface document, "States and
// transitions"; decided: 14).
type MessageState string

// The states of a message.
const (
	Created         MessageState = "CREATED"
	Active          MessageState = "ACTIVE"
	Retry           MessageState = "RETRY"
	Errored         MessageState = "ERROR"
	Delivered       MessageState = "DELIVERED"
	Failed          MessageState = "FAILED"
	CancelRequested MessageState = "CANCEL_REQUESTED"
	Canceled        MessageState = "CANCELED"
)

// transitions says where a message may go from each state.
var transitions = map[MessageState][]MessageState{
	"":              {Created},
	Created:         {Active, CancelRequested},
	Active:          {Delivered, Errored, CancelRequested},
	Errored:         {Retry, Failed, CancelRequested},
	Retry:           {Active, CancelRequested},
	CancelRequested: {Canceled, Delivered},
}

// mayFollow reports whether a message in state from may enter state to.
func mayFollow(from, to MessageState) bool { return slices.Contains(transitions[from], to) }

// Message is one body on its way to one destination URL.
type Message struct {
	ID           string
	Role         Role
	State        MessageState
	URL          string
	Method       string
	Header       Header // as published, configuration included, credentials left out
	Forward      Header // what the destination gets
	Body         []byte
	Options      *Options // effective: request over group default; never nil, never changed
	MaxRetries   int
	Retried      int // retries done so far; 0 during the first attempt
	CreatedAt    time.Time
	NotBefore    time.Time // earliest first attempt
	NextAt       time.Time // next attempt, while it waits for one
	CallerIP     string
	Group        string // URL group it was published to
	EndpointName string // its endpoint there
	ScheduleID   string
	SourceID     string // message that a callback reports on
	RunID        string // workflow run it belongs to
	Dropped      int    // bytes of body and headers that were dropped to make room, after it had ended

	timer    timer    // of its next attempt, or of the outcome of this one
	queue    *slot    // its place in a queue, shared with its callbacks
	canceled bool     // cancel was asked for while an attempt ran
	weight   uint32   // bytes of its body and of headers that it shares with no other message
	cancel   func()   // ends the running attempt
	step     *item    // workflow: the list entry that this message carries
	cut      int      // workflow: how much of the list it carries
	last     *Outcome // of the latest attempt, nil before it
	saved    savedAt
}

// FlowKey is its flow-control key, "" for none.
func (m *Message) FlowKey() string {
	if m.Options.Flow == nil {
		return ""
	}
	return m.Options.Flow.Key
}

// DeliverNow makes the next attempt of a message due now, as the tester, where it
// waits for a time; queues and flow control hold it as ever.
func (a *Account) DeliverNow(id string) error { return done(do(a, deliverNow{id})) }

type deliverNow struct{ ID string }

func (c deliverNow) apply(a *Account) (nothing, error) {
	m := a.messages[c.ID]
	if m == nil {
		return nothing{}, unknownMessage(c.ID)
	}
	if m.timer.place == 0 || m.State != Created && m.State != Retry {
		return nothing{}, refusal.Of(ErrInvalid, "message", c.ID, "is "+string(m.State)+" and waits for no time")
	}
	a.touch(m)
	a.timers.remove(m)
	m.NextAt = a.now
	a.due(m)
	a.changed()
	return nothing{}, nil
}

// Message is a message that has not ended yet. A delivered one is gone.
func (a *Account) Message(id string) (Message, error) {
	a.lock()
	defer a.unlock()
	m := a.messages[id]
	if m == nil {
		return Message{}, unknownMessage(id)
	}
	return *m, nil
}

func unknownMessage(id string) error {
	return refusal.Of(ErrNotFound, "message", id, "not found; it may have been delivered, cancelled or moved to the DLQ")
}

// Cancel stops a message: at once when it waits, else when its attempt ends.
func (a *Account) Cancel(id string) error { return done(do(a, cancel{id})) }

type cancel struct{ ID string }

func (c cancel) apply(a *Account) (nothing, error) {
	m := a.messages[c.ID]
	if m == nil {
		return nothing{}, unknownMessage(c.ID)
	}
	a.cancel(m)
	return nothing{}, nil
}

// CancelMessages cancels what matches and says how many that were.
func (a *Account) CancelMessages(f Filter) (int, error) { return do(a, cancelMessages{f}) }

type cancelMessages struct{ Filter Filter }

func (c cancelMessages) apply(a *Account) (int, error) {
	if err := c.Filter.check(); err != nil {
		return 0, err
	}
	n := 0
	for _, m := range sortedMessages(a.messages) {
		if n == c.Filter.limit(maxBulk) {
			break
		}
		if m.State != CancelRequested && m.RunID == "" && c.Filter.message(m, m.CreatedAt) {
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
	inFlight, active, held := m.cancel != nil, m.State == Active, m.timer.place == 0
	a.move(m, CancelRequested, event{})
	m.canceled = true
	switch {
	case inFlight:
		m.cancel()
		return
	case active: // a stub's outcome is on its way, or a snapshot cut the attempt off
		a.releaseFlow(m)
	case held && m.Options.Flow != nil && !(m.Options.Queue != "" && m.queue == nil):
		a.unhold(m)
	}
	a.timers.remove(m)
	a.move(m, Canceled, event{})
	a.end(m)
}
