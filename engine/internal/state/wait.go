package state

import (
	"time"
)

// Waiter is a run that waits for an event.
type Waiter struct {
	RunRef
	EventID       string
	URL           string
	Header        Header
	Deadline      time.Time
	TimeoutURL    string
	TimeoutHeader Header
	TimeoutBody   []byte
}

// PendingWait is a waiter with what is needed to continue its run. Its id is not the id of
// the run.
type PendingWait struct {
	Waiter
	WaiterID string
	timer    TimerPlace
	Raw      []byte
	Item     *StepItem
	Run      *Run
}
