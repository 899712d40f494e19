package engine

import (
	"slices"
	"time"
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
}

// Labels are the labels given by the publisher.
func (m *Message) Labels() []string { return m.Options.Labels }

// Queue is the name of the FIFO queue it waits in, "" for none.
func (m *Message) Queue() string { return m.Options.Queue }

// FlowKey is its flow-control key, "" for none.
func (m *Message) FlowKey() string {
	if m.Options.Flow == nil {
		return ""
	}
	return m.Options.Flow.Key
}
