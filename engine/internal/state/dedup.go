package state

import (
	"time"
)

// Dedup has the deduplication keys of the messages published within the window.
type Dedup struct {
	First map[string]DedupMark
	Order FIFO[DedupMark]
}

// DedupMark is one deduplication key of a message. A message may have two.
type DedupMark struct {
	Key, ID string
	Until   time.Time
}
