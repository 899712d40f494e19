package state

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// SnapshotVersion is the format of snapshots (docs/reference/versions.md).
const SnapshotVersion = 2

// Snapshot is a state that was read and checked. Only one account can take it.
type Snapshot struct {
	Account string    // id of the account
	Clock   string    // real, manual or auto
	Now     time.Time // time of the clock

	VectorIndexes []string // names, sorted

	Canceling []*Message      // messages whose attempt in flight was being cancelled
	InFlight  []*Message      // messages with an attempt in flight, which start first
	LSN       uint64          // sequence number of the last journal record
	Settings  json.RawMessage // settings that the following records depend on; nil for none

	state *State // nil after Take
	text  []byte // the document, once Document has made it
}

// Recorded returns the snapshot as part of a command. For a journal it makes the document
// now, because the record is written after the state was taken.
func (s *Snapshot) Recorded(forJournal bool) *Recorded {
	if forJournal && s.state != nil {
		_ = s.Document()
	}
	return (*Recorded)(s)
}

// Recorded is a snapshot in a journal. Its JSON is the document.
type Recorded Snapshot

// Take returns the state, which then belongs to the caller. A second call returns an error.
func (s *Snapshot) Take() (State, error) {
	if s.state == nil {
		return State{}, refusal.Of(refusal.Invalid, "snapshot of account", s.Account, "used already")
	}
	taken := *s.state
	s.state = nil
	return taken, nil
}

// documentEpoch is the epoch of Document. No account reaches it. Writing marks the objects
// of the state with the epoch; an account that takes the state would mistake marks with one
// of its later epochs for marks of its own snapshot.
const documentEpoch = math.MaxUint32

// noLock is the lock of a state that belongs to no account.
type noLock struct{}

func (noLock) Lock() {}

func (noLock) Unlock() {}

// Document returns the snapshot in the format that an account writes. It is made only once,
// because a second pass would need another epoch.
func (s *Snapshot) Document() []byte {
	if s.text == nil {
		s.text = writeDocument(s.state, Instant{Epoch: documentEpoch, Account: s.Account, Clock: s.Clock}, 0)
	}
	return s.text
}

// writeDocument writes a state that does not change meanwhile, with all times moved.
func writeDocument(from *State, at Instant, by time.Duration) []byte {
	var text bytes.Buffer
	c, w := codec.NewWriter(&text), NewSnapshotWriter(noLock{}, from)
	c.Shift(by)
	w.Begin(at)
	c.Document(w.Members)
	_ = c.Close() // a buffer never fails
	return text.Bytes()
}

// Moved returns a copy of a state in which all times are moved by a duration. The caller holds
// the lock of the account.
func Moved(from *State, at Instant, by time.Duration) (*Snapshot, error) {
	text := writeDocument(from, at, by)
	s, err := ReadSnapshot(bytes.NewReader(text))
	if err == nil {
		s.text = text
	}
	return s, err
}

// MarshalJSON returns the document.
func (s *Recorded) MarshalJSON() ([]byte, error) {
	return (*Snapshot)(s).Document(), nil
}

// UnmarshalJSON reads the document that MarshalJSON returns.
func (s *Recorded) UnmarshalJSON(text []byte) error {
	read, err := ReadSnapshot(bytes.NewReader(text))
	if err == nil {
		*s = Recorded(*read)
	}
	return err
}

// damagedError returns the error for an inconsistent snapshot.
func damagedError(err error) error {
	return refusal.Of(refusal.Invalid, "snapshot is damaged", "", err.Error())
}

// ReadSnapshot reads a document of a SnapshotWriter, of this version or an earlier one. An error names the
// place where the document is damaged.
func ReadSnapshot(from io.Reader) (*Snapshot, error) {
	c, r := codec.NewReader(from), SnapshotReader{}
	c.Document(r.Members)
	_ = c.Close() // r.Snapshot returns the error of the document
	return r.Snapshot(c)
}
