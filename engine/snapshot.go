package engine

import (
	"bytes"
	"io"
	"math"
	"time"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/journal"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// SnapshotVersion is the form of snapshots that this package writes. It reads
// this one and those before it (docs/state.md).
const SnapshotVersion = 2

// Snapshot is a state that was read and checked. Restore puts it into an
// account.
type Snapshot struct {
	Account string    // whose state it is
	Clock   string    // real, manual or auto
	Now     time.Time // where the clock is

	VectorIndexes []string // their names, sorted

	state     *state.State // nil once an account has it
	canceling []*Message
	inFlight  []*Message // the first of what is ready
	lsn       uint64     // of the last record of the journal
	text      []byte     // for a journal
}

// Restore replaces the state by that of a snapshot, which can be used once; a
// manual clock goes to its time, a real one that is behind continues from there.
// Attempts in flight are cut off, their outcomes ignored; an Advance under way
// ends with an error.
func (a *Account) Restore(s *Snapshot) error {
	return done(do(a, restore{(*recordedSnapshot)(s.keptFor(a.cfg.Journal))}))
}

type restore struct{ Snapshot *recordedSnapshot }

// recordedSnapshot is a snapshot as a journal has it: its document.
type recordedSnapshot Snapshot

func (c restore) apply(a *Account) (nothing, error) {
	restored, err := (*Snapshot)(c.Snapshot).take()
	if err != nil {
		return nothing{}, err
	}
	now := a.state.Now
	restored.ReadAnswers(a.cfg.Wire.ReadAnswer)
	a.replace(restored)
	a.restored++
	if a.mode == "real" && now.After(a.state.Now) {
		a.state.Now = now
	}
	a.follow(a.mode, nil)
	for _, m := range c.Snapshot.canceling {
		a.cutOff(m)
	}
	return nothing{}, nil
}

// keptFor keeps the document for a journal, which records it once the state is
// given away.
func (s *Snapshot) keptFor(j journal.Journal) *Snapshot {
	if j != nil && s.state != nil {
		_ = s.document()
	}
	return s
}

// take gives the state away.
func (s *Snapshot) take() (state.State, error) {
	if s.state == nil {
		return state.State{}, refusal.Of(ErrInvalid, "snapshot of account", s.Account, "used already")
	}
	taken := *s.state
	s.state = nil
	return taken, nil
}

// document is the snapshot as WriteSnapshot writes it. It is written once, and in an
// epoch that no account reaches: writing leaves its marks in the state, and an account
// that takes the state would mistake those of its next epoch for its own.
func (s *Snapshot) document() []byte {
	if s.text == nil {
		var text bytes.Buffer
		still := &Account{cfg: Config{ID: s.Account}, mode: s.Clock, replaying: true, saveEpoch: math.MaxUint32 - 1, state: *s.state}
		_ = still.WriteSnapshot(&text) // a buffer takes everything
		s.text = text.Bytes()
	}
	return s.text
}

// MarshalJSON gives the document.
func (s *recordedSnapshot) MarshalJSON() ([]byte, error) {
	return (*Snapshot)(s).document(), nil
}

// UnmarshalJSON reads what MarshalJSON has written.
func (s *recordedSnapshot) UnmarshalJSON(text []byte) error {
	read, err := ReadSnapshot(bytes.NewReader(text))
	if err == nil {
		*s = recordedSnapshot(*read)
	}
	return err
}

// replace puts another state in place of what was.
func (a *Account) replace(s state.State) {
	for _, m := range a.state.Messages {
		if m.Cancel != nil {
			m.Cancel()
		}
	}
	a.unweigh()
	if a.saving != nil {
		a.saving.detach()
	}
	a.state = s
	a.replaced++
	a.weigh()
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}

// damaged is the error of a snapshot that contradicts itself.
func damaged(err error) error { return refusal.Of(ErrInvalid, "snapshot is damaged", "", err.Error()) }

// ReadSnapshot reads what WriteSnapshot has written, or an earlier version. An
// error names the place at which the document is damaged.
func ReadSnapshot(from io.Reader) (*Snapshot, error) {
	c, r := codec.NewReader(from), SnapshotReader{}
	c.Document(r.Members)
	_ = c.Close() // an error of the document is that of the snapshot
	return r.Snapshot(c)
}

// SnapshotReader reads a snapshot that is part of a larger document. The zero
// value begins with nothing.
type SnapshotReader struct{ loader *loader }

// Members reads the members of the snapshot.
func (r *SnapshotReader) Members(c *codec.Codec) { r.begun().members(c) }

// Snapshot is what was read, once it is complete.
func (r *SnapshotReader) Snapshot(c *codec.Codec) (*Snapshot, error) { return r.begun().snapshot(c) }

func (r *SnapshotReader) begun() *loader {
	if r.loader == nil {
		r.loader = newLoader()
	}
	return r.loader
}
