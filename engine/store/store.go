// Package store is the port through which accounts keep their journals, so that they
// outlive the process. The packages below it implement it.
//
//	kept, err := st.Open(ctx, "shop")
//	acct, err := engine.Open(cfg, snapshot, kept.Records()) // cfg.Journal is kept
//
// It does not depend on commands or states: a record is a name and bytes, a snapshot is bytes.
package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/understudy-mock/understudy/engine/journal"
)

// Store keeps the journals of many accounts.
type Store interface {
	// Accounts returns the ids of all kept accounts, sorted.
	Accounts(ctx context.Context) ([]string, error)
	// Open opens an account, which may be new and empty. An account can be open only once
	// at a time.
	Open(ctx context.Context, account string) (Log, error)
	// Stats returns what the store has done so far.
	Stats() Stats
	// Close writes outstanding records, waits for them, and releases the store.
	Close() error
}

// Log is the storage of one account: its last snapshot, its journal since then, and its
// about data, which belong to the account but not to its state, such as credentials.
type Log interface {
	journal.Journal
	Kept

	// Close releases the account after all appended records are durable or have failed.
	Close() error

	// Lost returns a channel that is closed when another process has taken the account;
	// nothing can be appended then. It is nil if this cannot happen.
	Lost() <-chan struct{}

	// SetAbout replaces the about data, and returns when they are durable.
	SetAbout(ctx context.Context, about []byte) error

	// Save replaces the snapshot and deletes the records that it includes: write returns
	// the number of the last of them. If it fails, nothing changes.
	Save(ctx context.Context, write func(io.Writer) (lsn uint64, err error)) error
}

// Shared is a store that several processes use at the same time.
type Shared interface {
	// Read returns what is kept of an account, which another process may have open.
	Read(ctx context.Context, account string) (Kept, error)
}

// Checked is a store that can say whether it can write.
type Checked interface {
	// Ready returns why nothing can be written now; nil if it can.
	Ready(ctx context.Context) error
}

// Kept is the stored data of an account, for reading.
type Kept interface {
	// About returns the data of the last SetAbout, nil for none.
	About() []byte
	// Snapshot returns the last saved snapshot, nil for none. If it is damaged, reading it
	// ends with an error.
	Snapshot(ctx context.Context) (io.Reader, error)
	// Records yields the records after the snapshot. An error names the first damaged or
	// missing record.
	Records(ctx context.Context) iter.Seq2[journal.Record, error]
}

// Chain is the checksum of a piece of a journal and all pieces before it.
type Chain [16]byte

// Next returns the checksum of the following piece.
func (c Chain) Next(piece []byte) Chain {
	h := sha256.New()
	h.Write(c[:])
	h.Write(piece)
	return Chain(h.Sum(nil))
}

// Stats has the counts of a store since it was opened.
type Stats struct {
	Records     int64             // number of durable records
	Bytes       int64             // of these records
	Commits     int64             // groups of records
	Failures    int64             // groups that could not be written
	CommitTime  time.Duration     // total duration of the commits
	CommitTimes [9]int64          // number of commits by duration: up to each of CommitBounds, and longer
	Snapshots   int64             // saved
	Behind      map[string]Behind // by account
}

// Behind is the size of an account's journal since its last snapshot.
type Behind struct {
	Records  int64
	Bytes    int64 // of these records
	Snapshot int64 // size of that snapshot, in bytes
}

// Count adds a group of records, the size of their bodies, and the duration of its commit.
func (s *Stats) Count(records, size int64, took time.Duration, err error) {
	switch {
	case records == 0:
		return
	case err != nil:
		s.Failures++
		return
	}
	s.Commits++
	s.CommitTime += took
	s.Records += records
	s.Bytes += size
	i := 0
	for i < len(CommitBounds) && took > CommitBounds[i] {
		i++
	}
	s.CommitTimes[i]++
}

// CommitBounds are the upper bounds of Stats.CommitTimes.
var CommitBounds = [8]time.Duration{
	100 * time.Microsecond, 300 * time.Microsecond, time.Millisecond, 3 * time.Millisecond,
	10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, time.Second,
}

// The kinds of errors of Open.
var (
	ErrInUse   = errors.New("in use by another process")
	ErrDamaged = errors.New("damaged")
	ErrVersion = errors.New("of another version")
)

// The kinds of temporary errors of an open store.
var (
	ErrUnanswered = errors.New("the disk has not answered") // the result of the operation is unknown
	ErrFull       = errors.New("the disk is full")
	ErrGone       = errors.New("was deleted or replaced")
)
