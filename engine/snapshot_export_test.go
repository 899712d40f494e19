package engine

import (
	"io"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/internal/state"
)

// WriteSnapshotInParts writes a snapshot with few records at a time under the
// lock, and calls between whenever the lock is free.
func WriteSnapshotInParts(a *Account, to io.Writer, most int, between func()) error {
	w := state.NewSnapshotWriter(&a.mu, &a.state)
	w.Most, w.Between = most, between
	c := codec.NewWriter(to)
	c.Document(func(c *codec.Codec) { a.save(w, c, func(*state.Instant) {}) })
	return c.Close()
}
