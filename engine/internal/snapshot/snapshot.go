package snapshot

import (
	"bytes"
	"io"
	"math"
	"time"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Version is the form of snapshots that this package writes. It reads this one and
// those before it (docs/state.md).
const Version = 2

// Snapshot is a state that was read and checked. An account takes it once.
type Snapshot struct {
	Account string    // whose state it is
	Clock   string    // real, manual or auto
	Now     time.Time // where the clock is

	VectorIndexes []string // their names, sorted

	Canceling []*state.Message // attempts in flight that were being cancelled
	InFlight  []*state.Message // attempts in flight, the first of what is ready
	LSN       uint64           // of the last record of the journal

	state *state.State // nil once an account has it
	text  []byte       // its document, where it was asked for
}

// Recorded is the snapshot as a command has it. For a journal it keeps its document,
// since the record is written once the state is given away.
func (s *Snapshot) Recorded(forJournal bool) *Recorded {
	if forJournal && s.state != nil {
		_ = s.Document()
	}
	return (*Recorded)(s)
}

// Recorded is a snapshot as a journal has it: its document.
type Recorded Snapshot

// Take gives the state away.
func (s *Snapshot) Take() (state.State, error) {
	if s.state == nil {
		return state.State{}, refusal.Of(refusal.Invalid, "snapshot of account", s.Account, "used already")
	}
	taken := *s.state
	s.state = nil
	return taken, nil
}

// documentEpoch is that of documents. No account reaches it: writing leaves its marks in
// the state, and an account that takes the state would mistake those of its next epoch
// for its own.
const documentEpoch = math.MaxUint32

// noLock is for a state that belongs to no account.
type noLock struct{}

func (noLock) Lock() {}

func (noLock) Unlock() {}

// Document is the snapshot as an account writes it. It is written once, since its epoch
// is used up then.
func (s *Snapshot) Document() []byte {
	if s.text == nil {
		var text bytes.Buffer
		c, w := codec.NewWriter(&text), NewWriter(noLock{}, s.state)
		c.Document(func(c *codec.Codec) {
			w.Begin(Instant{Epoch: documentEpoch, Account: s.Account, Clock: s.Clock})
			w.Members(c)
		})
		_ = c.Close() // a buffer takes everything
		s.text = text.Bytes()
	}
	return s.text
}

// MarshalJSON gives the document.
func (s *Recorded) MarshalJSON() ([]byte, error) {
	return (*Snapshot)(s).Document(), nil
}

// UnmarshalJSON reads what MarshalJSON has written.
func (s *Recorded) UnmarshalJSON(text []byte) error {
	read, err := Read(bytes.NewReader(text))
	if err == nil {
		*s = Recorded(*read)
	}
	return err
}

// damagedError is the error of a snapshot that contradicts itself.
func damagedError(err error) error {
	return refusal.Of(refusal.Invalid, "snapshot is damaged", "", err.Error())
}

// Read reads what a Writer has written, or an earlier version. An error names the place
// at which the document is damaged.
func Read(from io.Reader) (*Snapshot, error) {
	c, r := codec.NewReader(from), Reader{}
	c.Document(r.Members)
	_ = c.Close() // an error of the document is that of the snapshot
	return r.Snapshot(c)
}

// Reader reads a snapshot that is part of a larger document. The zero
// value begins with nothing.
type Reader struct{ loader *loader }

// Members reads the members of the snapshot.
func (r *Reader) Members(c *codec.Codec) { r.begun().members(c) }

// Snapshot is what was read, once it is complete.
func (r *Reader) Snapshot(c *codec.Codec) (*Snapshot, error) { return r.begun().snapshot(c) }

// begun lets the zero value work.
func (r *Reader) begun() *loader {
	if r.loader == nil {
		r.loader = newLoader()
	}
	return r.loader
}
