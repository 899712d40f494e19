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

	FailedRun *Run  `saved:"apart"` // that Run names
	Counted   int64 `saved:"no"`    // bytes, as work: what its weight was when it was counted last
}

// Position is its place in the DLQ, which goes by the time of the failure.
func (e *DLQEntry) Position() Position { return Position{e.At.UnixMilli(), e.Seq} }
