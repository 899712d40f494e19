package snapshot

import (
	"time"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/usage"
)

// The records of a snapshot. Each is an object of the state as it was at the instant of the
// snapshot, with places instead of pointers. Messages, items, runs, slots and queues are
// referred to by their place in the list of their kind, from 1; 0 is none.

// savedTimer is the timer of an object.
type savedTimer struct {
	seq  uint64 // 0: no timer
	due  int64  // Unix ms
	kind state.TimerKind
}

// savedMessage is a message with places instead of pointers. Only a live one has a timer
// and a turn.
type savedMessage struct {
	state.Message
	live      bool // not ended
	wake      savedTimer
	slotPlace int
	itemPlace int
	inFlight  bool   // not in the file: the ready list has its place
	canceling bool   // its attempt is in flight, and cancellation was requested
	reportsOn string // id of the DLQ entry whose failure callback it is
}

func (s *savedMessage) members(c *codec.Codec) {
	messageMembers(&s.Message, c)
	codec.Bool(c, "live", &s.live)
	s.wake.members(c)
	codec.Int(c, "slot", &s.slotPlace)
	codec.Int(c, "item", &s.itemPlace)
	codec.Int(c, "cut", &s.Cut)
	codec.Bool(c, "canceled", &s.Canceled)
	codec.Bool(c, "canceling", &s.canceling)
	codec.Optional(c, "last", &s.Last, outcomeMembers)
	codec.Text(c, "reportsOn", &s.reportsOn)
}

// members has the timer of an object. Version 1 has only the sequence here, and a separate
// list of all timers.
func (t *savedTimer) members(c *codec.Codec) {
	codec.Int(c, "timer", &t.seq)
	codec.UnixTime(c, "due", &t.due, time.Millisecond)
	wakes := timerKinds[t.kind]
	if t.kind != state.WakeOutcome {
		wakes = ""
	}
	switch codec.Text(c, "wakes", &wakes); wakes {
	case "":
	case timerKinds[state.WakeOutcome]:
		t.kind = state.WakeOutcome
	default:
		c.Failf("wakes %q: must be %s", wakes, timerKinds[state.WakeOutcome])
	}
}

// savedItem leaves out the waiter, which refers to the item.
type savedItem struct{ state.StepItem }

func (s *savedItem) members(c *codec.Codec) {
	codec.Text(c, "messageId", &s.MessageID)
	codec.Bytes(c, "body", &s.Body)
	codec.Text(c, "callType", &s.CallType)
	codec.Object(c, "step", &s.Step, stepMembers)
	codec.List(c, "errors", &s.Errors, stepErrorMembers)
	codec.Text(c, "ended", &s.Ended)
	codec.Text(c, "settled", &s.Settled)
	codec.Optional(c, "redact", &s.Redact, redactionMembers)
}

// savedSlot is a turn in a queue, which a message shares with its callbacks.
type savedSlot struct {
	state.QueueSlot
	queuePlace int
}

func (s *savedSlot) members(c *codec.Codec) {
	codec.Int(c, "queue", &s.queuePlace)
	codec.Int(c, "open", &s.Open)
}

// savedQueue has the waiting messages. Messages that have their turn refer to the queue by
// their slot.
type savedQueue struct {
	state.QueueBacklog
	held   []*state.Message // messages that wait in it
	places []int            // the same
	gone   bool             // deleted, but messages still have a turn in it
}

func (s *savedQueue) members(c *codec.Codec) {
	queueMembers(&s.Queue, c)
	codec.Int(c, "active", &s.Active)
	codec.Ints(c, "waiting", &s.places)
	codec.Bool(c, "gone", &s.gone)
}

// savedFlow has the times of the latest starts, so that the rate limit continues after loading.
type savedFlow struct {
	state.FlowGate
	wake   savedTimer
	held   []*state.Message // messages that wait for it
	places []int            // the same
	times  []time.Time
}

func (s *savedFlow) members(c *codec.Codec) {
	flowMembers(&s.FlowKey, c)
	codec.Ints(c, "held", &s.places)
	codec.Times(c, "starts", &s.times)
	codec.Bool(c, "offered", &s.Offered)
	s.wake.members(c)
	codec.Time(c, "pausedAt", &s.PausedAt)
}

type savedSchedule struct {
	state.Schedule
	wake savedTimer
}

func (s *savedSchedule) members(c *codec.Codec) {
	scheduleMembers(&s.Schedule, c)
	s.wake.members(c)
}

// savedTurn is an entry of the ready list: a message by its place, or a key by its name.
type savedTurn struct {
	message  int
	flowKey  string
	inFlight bool // the message has an attempt in flight, which is repeated after loading
}

func (t *savedTurn) members(c *codec.Codec) {
	codec.Int(c, "message", &t.message)
	codec.Text(c, "flowKey", &t.flowKey)
	codec.Bool(c, "inFlight", &t.inFlight)
}

type savedMark struct{ state.DedupMark }

func (m *savedMark) members(c *codec.Codec) {
	codec.Text(c, "key", &m.Key)
	codec.Text(c, "id", &m.ID)
	codec.Time(c, "until", &m.Until)
}

func familyMembers(f *state.Family, c *codec.Codec) {
	codec.Text(c, "id", &f.ID)
	codec.Int(c, "created", &f.Created)
	codec.Bool(c, "cut", &f.Cut)
}

// savedRun is a run with the places of its steps.
type savedRun struct {
	state.Run
	itemPlaces []int
	openPlaces []int
	callPlaces []savedCall
	early      []savedEarly
	invocation *savedInvocation
	gone       bool // removed from the account, but still in the log
}

func (s *savedRun) members(c *codec.Codec) {
	runMembers(&s.Run, c)
	codec.Ints(c, "items", &s.itemPlaces)
	codec.Ints(c, "open", &s.openPlaces)
	codec.List(c, "calls", &s.callPlaces, (*savedCall).members)
	codec.List(c, "kept", &s.early, (*savedEarly).members) // the member "keptItems" is Run.Kept
	codec.Optional(c, "invoked", &s.invocation, (*savedInvocation).members)
	codec.Bool(c, "bare", &s.Bare)
	codec.Bool(c, "proven", &s.Proven)
	codec.Bool(c, "gone", &s.gone)
}

type savedCall struct{ step, item int }

func (s *savedCall) members(c *codec.Codec) {
	codec.Int(c, "step", &s.step)
	codec.Int(c, "item", &s.item)
}

// savedEarly has the notifications for an event that arrived before the wait.
type savedEarly struct {
	event string
	data  [][]byte
}

func (s *savedEarly) members(c *codec.Codec) {
	codec.Text(c, "event", &s.event)
	codec.Blobs(c, "data", &s.data)
}

// savedInvocation is the call that an invoked run reports to.
type savedInvocation struct {
	state.InvokerCall
	runPlace, itemPlace int
}

func (s *savedInvocation) members(c *codec.Codec) {
	codec.Int(c, "run", &s.runPlace)
	codec.Int(c, "item", &s.itemPlace)
	codec.Bytes(c, "raw", &s.Raw)
	codec.Header(c, "header", &s.Headers)
}

// savedWaiter is a waiter. They are sorted by the sequence of their timers, because the map
// has no order.
type savedWaiter struct {
	state.PendingWait
	wake                savedTimer
	runPlace, itemPlace int
}

func (s *savedWaiter) members(c *codec.Codec) {
	waiterMembers(&s.Waiter, c)
	codec.Text(c, "waiterId", &s.WaiterID)
	s.wake.members(c)
	codec.Bytes(c, "raw", &s.Raw)
	codec.Int(c, "item", &s.itemPlace)
	codec.Int(c, "ofRun", &s.runPlace)
}

// savedEntry is a DLQ entry with a copy of the message as it failed.
type savedEntry struct {
	state.DLQEntry
	runPlace, itemPlace int
}

func (s *savedEntry) members(c *codec.Codec) {
	codec.Text(c, "id", &s.ID)
	codec.Int(c, "seq", &s.Seq)
	codec.Time(c, "at", &s.At)
	codec.Object(c, "message", &s.Message, messageMembers)
	codec.Object(c, "last", &s.Last, outcomeMembers)
	codec.Optional(c, "callback", &s.Callback, callbackInfoMembers)
	codec.Optional(c, "run", &s.Run, runRefMembers)
	codec.Bytes(c, "payload", &s.Payload)
	codec.Int(c, "item", &s.itemPlace)
	codec.Int(c, "ofRun", &s.runPlace)
}

// savedEvent is a log entry. Its details are a value; in the state they are behind a pointer.
type savedEvent struct {
	state.LogEntry
	detail                            state.LogDetail
	messagePlace, runPlace, itemPlace int
}

func (s *savedEvent) members(c *codec.Codec) {
	codec.UnixTime(c, "at", &s.At, time.Millisecond)
	codec.UnixTime(c, "next", &s.Next, time.Millisecond)
	codec.Text(c, "state", &s.State)
	codec.Int(c, "message", &s.messagePlace)
	codec.Int(c, "run", &s.runPlace)
	codec.Int(c, "item", &s.itemPlace)
	codec.Optional(c, "outcome", &s.detail.Outcome, outcomeMembers)
	codec.Text(c, "error", &s.detail.Error)
	codec.Text(c, "rule", &s.detail.Rule)
	codec.Text(c, "dlqId", &s.detail.DLQID)
	codec.Optional(c, "invoker", &s.detail.Invoker, runRefMembers)
}

type savedMinute struct{ usage.Minute }

func (s *savedMinute) members(c *codec.Codec) {
	codec.UnixTime(c, "at", &s.Number, time.Minute)
	countsMembers(&s.Counts, c)
}

// savedReport is a failure callback of version 1. Version 2 has reportsOn in its message instead.
type savedReport struct{ callback, entry string }

func (s *savedReport) members(c *codec.Codec) {
	codec.Text(c, "callback", &s.callback)
	codec.Text(c, "entry", &s.entry)
}

// savedBooking is a timer in the list of version 1.
type savedBooking struct {
	savedTimer
	of, subject string
}

func (s *savedBooking) members(c *codec.Codec) {
	codec.UnixTime(c, "due", &s.due, time.Millisecond)
	codec.Int(c, "seq", &s.seq)
	codec.Text(c, "kind", &s.of)
	codec.Text(c, "subject", &s.subject)
}

// timerKinds are the names of the kinds of timers.
var timerKinds = []string{state.WakeMessage: "message", state.WakeFlow: "flowKey", state.WakeSchedule: "schedule", state.WakeOutcome: "outcome", state.WakeWaiter: "waiter"}
