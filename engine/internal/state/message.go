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

// Transitions lists the states that may follow each state.
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

// Message is one body to be delivered to one destination URL. It is small, because an
// account may hold a million: what many messages have in common is behind pointers.
type Message struct {
	ID         string
	State      MessageState
	URL        string
	Headers    HeaderPair `saved:"header+forward"` // as published, and those that the destination receives
	Body       []byte
	Options    *Options // effective: of the request over the defaults of the group; never nil, never changed
	MaxRetries int32
	Retried    int32 // retries done so far; 0 during the first attempt
	CreatedAt  Timestamp
	NotBefore  Timestamp // earliest first attempt
	NextAt     Timestamp // next attempt, while the message waits for one
	*Origin              // never nil, never changed
	Dropped    int32     // bytes of body and headers that were dropped after its end to free memory

	Cut      int32        `saved:"apart"` // workflow: how many entries of the list it carries
	Timer    TimerPlace   `saved:"apart"` // for its next attempt, or for the delayed outcome of the current one
	Slot     *QueueSlot   `saved:"apart"` // its place in a queue, shared with its callbacks
	Canceled bool         `saved:"apart"` // cancelled while an attempt was in flight
	InFlight bool         `saved:"no"`    // an attempt is in flight
	WasLive  bool         `saved:"no"`    // it had not ended when the snapshot of the mark Saved began
	Weight   uint32       `saved:"no"`    // bytes of its body and of headers not shared with other messages
	Step     *StepItem    `saved:"apart"` // workflow: the list entry that this message carries
	Last     *Outcome     `saved:"apart"` // of the latest attempt, nil before it
	Saved    SnapshotMark `saved:"no"`
}

// Origin is where a message comes from and what it belongs to. Messages of one publisher
// share it, and those of one run.
type Origin struct {
	Role         Role   `saved:",after=id"`
	Method       string `saved:",after=url"`
	CallerIP     string
	Group        string // URL group that it was published to
	EndpointName string // its endpoint in that group
	ScheduleID   string
	SourceID     string // message that a callback reports on
	RetryOf      string // failed message that it retries from the DLQ, or one that it publishes again
	Again        bool   // it publishes that message again, with changes
	RunID        string // workflow run it belongs to
}

// TraceRoot is what the trace of a message or a run derives from: an id, and the context of its
// publisher, see Options. All messages of a run have its id, except the failure callback.
type TraceRoot struct{ ID, Context string }

// TraceRoot is what the trace of the message derives from.
func (m *Message) TraceRoot() TraceRoot {
	switch {
	case m.Role.Conduct().ReportsFailed:
		return TraceRoot{ID: m.ID}
	case m.RunID != "":
		return TraceRoot{m.RunID, m.Options.TraceContext}
	}
	return TraceRoot{m.ID, m.Options.TraceContext}
}

// Timestamp is a time in whole milliseconds, a third as large as a time.Time. The zero
// value is the zero time.
type Timestamp int64 // Unix ms + 1

// TimestampOf drops what is smaller than a millisecond.
func TimestampOf(t time.Time) Timestamp {
	if t.IsZero() {
		return 0
	}
	return Timestamp(t.UnixMilli() + 1)
}

// Time returns the time.
func (t Timestamp) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t) - 1)
}

// SetTime sets it to a time.
func (t *Timestamp) SetTime(to time.Time) { *t = TimestampOf(to) }

// IsZero reports whether it is the zero time.
func (t Timestamp) IsZero() bool { return t == 0 }

// UnixMilli returns the Unix time in ms.
func (t Timestamp) UnixMilli() int64 { return t.Time().UnixMilli() }

// FlowKey returns the flow-control key of the message, "" for none.
func (m *Message) FlowKey() string {
	if m.Options.Flow == nil {
		return ""
	}
	return m.Options.Flow.Key
}
