package state

import (
	"time"
)

// DLQEntry is a failed message or run, kept until it is retried, restarted,
// resumed or deleted.
type DLQEntry struct {
	ID       string
	Seq      uint64
	At       time.Time
	Message  Message // as it failed
	Last     Outcome // of the last attempt
	Callback *CallbackInfo
	Run      *RunRef // the failed run, nil for a plain message
	Payload  []byte  // of the run

	FailedRun *Run  `saved:"apart"` // the run that Run refers to
	Counted   int64 `saved:"no"`    // bytes counted as work: the weight at the last count
}

// Position is its place in the DLQ, which is ordered by the time of the failure.
func (e *DLQEntry) Position() Position { return Position{e.At.UnixMilli(), e.Seq} }
