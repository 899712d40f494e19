package state

import (
	"time"
)

// The records of a snapshot. Each is an object of the state as it was at the instant of the
// snapshot, with places instead of pointers: its exported fields are the members of an entry.
// Messages, items, runs, slots and queues are referred to by their place in the list of their
// kind, from 1; 0 is none.

// savedTimer is the timer of an object.
type savedTimer struct {
	Timer uint64 // its sequence; 0: no timer
	Due   int64  `saved:",ms"`
	Wakes string // the kind of timer, if the owner may have one of two kinds and this is the second
}

// savedMessage is a message. Only a live one has a timer and a turn.
type savedMessage struct {
	Message
	Live bool // not ended
	savedTimer
	Slot, Item int
	Cut        int32
	Canceled   bool
	Canceling  bool // its attempt is in flight, and cancellation was requested
	Last       *Outcome
	ReportsOn  string // id of the DLQ entry whose failure callback it is

	inFlight bool // the ready list has its place
}

// savedSlot is a turn in a queue, which a message shares with its callbacks.
type savedSlot struct {
	Queue, Open int

	in *QueueBacklog
}

// savedQueue has the waiting messages. Messages that have their turn refer to the queue by
// their slot.
type savedQueue struct {
	Queue
	Active  int
	Waiting []int
	Gone    bool // deleted, but messages still have a turn in it

	held []*Message // that wait in it
}

// savedFlow has the times of the latest starts, so that the rate limit continues after loading.
type savedFlow struct {
	FlowKey
	Held    []int
	Starts  []time.Time
	Offered bool
	savedTimer
	PausedAt time.Time

	held []*Message // that wait for it
}

type savedSchedule struct {
	Schedule
	savedTimer
}

// savedTurn is an entry of the ready list: a message by its place, a key by its name, or what
// remains of a cancelled message.
type savedTurn struct {
	Message  int
	FlowKey  string
	URL      string // of a cancelled message, or of the share that holds the turn of the key
	InFlight bool   // the message has an attempt in flight, which is repeated after loading
}

// savedRun is a run with the places of its steps.
type savedRun struct {
	Run
	Items, Open []int
	Calls       []savedCall
	Early       []savedEarly `saved:"kept"`
	Invoked     *savedInvocation
	Bare        bool
	Proven      bool
	Gone        bool // removed from the account, but still in the log
}

type savedCall struct{ Step, Item int }

// savedEarly has the notifications for an event that arrived before the wait.
type savedEarly struct {
	Event string
	Data  [][]byte
}

// savedInvocation is the call that an invoked run reports to.
type savedInvocation struct {
	Run, Item int
	Raw       []byte
	Header    Header
}

// savedWaiter is a waiter. They are sorted by the sequence of their timers, because the map
// has no order.
type savedWaiter struct {
	Waiter
	WaiterID string
	savedTimer
	Raw         []byte
	Item, OfRun int

	of PendingWait
}

// savedEntry is a DLQ entry with a copy of the message as it failed.
type savedEntry struct {
	DLQEntry
	Item, OfRun int
}

// savedEvent is a log entry. Its details are a value; in the state they are behind a pointer.
type savedEvent struct {
	At, Next           int64 `saved:",ms"`
	State              string
	Message, Run, Item int
	LogDetail
}

// timerKinds are the names of the kinds of timers.
var timerKinds = []string{WakeMessage: "message", WakeFlow: "flowKey", WakeSchedule: "schedule", WakeOutcome: "outcome", WakeWaiter: "waiter"}
