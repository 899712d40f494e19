package state

import (
	"time"
)

// Dedup remembers what was published within the window.
type Dedup struct {
	First map[string]DedupMark
	Order FIFO[DedupMark]
}

// DedupMark is one key under which a message is known. A message may have two.
type DedupMark struct {
	Key, ID string
	Until   time.Time
}
