package state

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

// Transitions says where a message may go from each state.
var Transitions = map[MessageState][]MessageState{
	"":              {Created},
	Created:         {Active, CancelRequested},
	Active:          {Delivered, Errored, CancelRequested},
	Errored:         {Retry, Failed, CancelRequested},
	Retry:           {Active, CancelRequested},
	CancelRequested: {Canceled, Delivered},
}

// MayFollow reports whether a message in state from may enter state to.
func MayFollow(from, to MessageState) bool { return slices.Contains(Transitions[from], to) }

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

	Timer    TimerPlace   `saved:"apart"` // of its next attempt, or of the outcome of this one
	Slot     *QueueSlot   `saved:"apart"` // its place in a queue, shared with its callbacks
	Canceled bool         `saved:"apart"` // cancel was asked for while an attempt ran
	Weight   uint32       `saved:"no"`    // bytes of its body and of headers that it shares with no other message
	Cancel   func()       `saved:"no"`    // ends the running attempt; nil: none runs
	Step     *StepItem    `saved:"apart"` // workflow: the list entry that this message carries
	Cut      int          `saved:"apart"` // workflow: how much of the list it carries
	Last     *Outcome     `saved:"apart"` // of the latest attempt, nil before it
	Saved    SnapshotMark `saved:"no"`
}

// FlowKey is its flow-control key, "" for none.
func (m *Message) FlowKey() string {
	if m.Options.Flow == nil {
		return ""
	}
	return m.Options.Flow.Key
}
