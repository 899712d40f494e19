package state

import (
	"slices"
	"time"
)

// Step is one step of a run, as its endpoint reported it ("stepInfo"; names
// decided: 4).
type Step struct {
	ID         int // from 1; 0 for the initial step and for plans
	Name       string
	Type       string // Initial, Run, Call, SleepFor, SleepUntil, Wait, Notify, Invoke
	CallType   string
	MessageID  string
	Out        string
	Concurrent int
	TargetStep int // of a plan: id of the step that it is for
	CreatedAt  time.Time

	SleepFor   time.Duration
	SleepUntil time.Time

	CallURL            string
	CallMethod         string
	CallHeader         Header
	CallBody           string
	CallStatus         int // 0 until the response arrives
	CallResponseBody   string
	CallResponseHeader Header

	WaitEventID  string
	WaitFor      string // time limit as given, such as 120s
	WaitDeadline time.Time
	WaitTimedOut *bool // nil while it waits

	Invoked       *RunRef
	InvokedBody   string
	InvokedHeader Header
}

// Wakes returns when the step has slept, by its own words; zero if it does not sleep. Clients round
// the header with the same time down, and a resumed run sends none. The result of a parallel step
// sleeps no more: its plan has slept.
func (s *Step) Wakes() time.Time {
	switch {
	case s.Concurrent > 1 && s.TargetStep == 0:
		return time.Time{}
	case s.Type == "SleepFor":
		return s.CreatedAt.Add(s.SleepFor)
	}
	return s.SleepUntil
}

// StepItem is an entry of a run's step list, or a third-party call, which is in no list.
type StepItem struct {
	MessageID string
	Body      []byte // the payload, or one step as JSON
	CallType  string // step, toCallback, fromCallback
	Step      Step
	Waiter    *PendingWait `saved:"no"` // the wait of this entry, while it is pending
	Errors    []StepError  // of failed attempts to deliver it
	Ended     MessageState // final state of the call that carried it, "" before
	Settled   string       // state of the step in the run view if its result is in no list, otherwise ""
	Redact    *Redaction   // of its message, in addition to that of the run
	Saved     SnapshotMark `saved:"no"`
}

// repeats reports whether the entry is of the same step, or plan, as an earlier one: client
// libraries identify them in this way.
func (it *StepItem) repeats(before *StepItem) bool {
	return it.CallType == before.CallType && it.Step.ID == before.Step.ID && it.Step.TargetStep == before.Step.TargetStep && it.Step.ID+it.Step.TargetStep > 0
}

// EarlierOf returns the entry of a list of which it is a repetition, nil for none.
func EarlierOf(it *StepItem, list []*StepItem) *StepItem {
	if i := slices.IndexFunc(list, it.repeats); i >= 0 {
		return list[i]
	}
	return nil
}

// FirstOfEach returns a list without repetitions.
func FirstOfEach(list []*StepItem) (first []*StepItem) {
	for _, it := range list {
		if EarlierOf(it, first) == nil {
			first = append(first, it)
		}
	}
	return first
}

// Answered copies the request and response of a finished third-party call.
func (s *Step) Answered(call *Step) {
	s.CallURL, s.CallMethod, s.CallHeader, s.CallBody = call.CallURL, call.CallMethod, call.CallHeader, call.CallBody
	s.CallStatus, s.CallResponseBody, s.CallResponseHeader = call.CallStatus, call.CallResponseBody, call.CallResponseHeader
}

// Answered records what the run view and the step of a third-party call need of an outcome.
func (m *Message) Answered(o *Outcome, now time.Time) {
	if m.Step == nil {
		return
	}
	if m.Role.Conduct().CallsOut {
		s := &m.Step.Step
		s.CallStatus, s.CallResponseBody, s.CallResponseHeader = o.Status, string(o.Body), o.Header
	}
	if !o.OK() {
		m.Step.Failed(FailureText(o), o, now)
	}
}

// Failed records a failed attempt for the run view.
func (it *StepItem) Failed(why string, o *Outcome, now time.Time) {
	it.Errors = append(it.Errors, StepError{Error: why, Body: string(o.Body), Header: o.Header, Status: o.Status, Time: now})
}

// StepError is a failed attempt in the run view.
type StepError struct {
	Error  string
	Body   string
	Header Header
	Status int
	Time   time.Time
}

// The states of a step in the run view (wire.md, "Run views").
const (
	StepProgress = "STEP_PROGRESS"
	StepSuccess  = "STEP_SUCCESS"
	StepRetry    = "STEP_RETRY"
	StepFailed   = "STEP_FAILED"
	StepCanceled = "STEP_CANCELED"
)

// Asleep reports whether the entry is a sleep that has not ended.
func (s *State) Asleep(it *StepItem) bool {
	m := s.Messages[it.MessageID]
	return m != nil && m.State == Created && m.NextAt.Time().After(s.Now) && (it.Step.Type == "SleepFor" || it.Step.Type == "SleepUntil")
}
