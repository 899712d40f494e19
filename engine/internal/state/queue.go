package state

import (
	"time"
)

// Queue delivers its messages in order (extension; wire.md, "Further operations").
type Queue struct {
	Name        string
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Parallelism int
	Paused      bool
	Lag         int // number of messages that wait for their turn
}

// QueueBacklog is a queue and the messages that wait for their turn in it.
type QueueBacklog struct {
	Queue
	Waiting FIFO[*Message]
	Active  int
	Saved   SnapshotMark
}

// QueueSlot is a message's turn in a queue. Its callbacks share it, so that the
// next message waits for them as well.
type QueueSlot struct {
	Queue *QueueBacklog
	Open  int
	Saved SnapshotMark
}
