package engine

import (
	"io"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/internal/state"
)

// WriteSnapshot writes the whole state at the beginning of the call as one JSON object
// (docs/reference/versions.md), while attempts and commands continue. The same state gives the same bytes.
//
// An attempt in flight is saved as ready: a restored account repeats it under the same number,
// and logs no second ACTIVE. Restore cancels messages with a pending cancel request.
func (a *Account) WriteSnapshot(to io.Writer) error {
	c := codec.NewWriter(to)
	c.Document(a.SnapshotMembers)
	return c.Close()
}

// SaveTo is WriteSnapshot for a journal: it also writes the settings that later records depend
// on, and returns the sequence number of the last record that the snapshot contains.
func (a *Account) SaveTo(to io.Writer) (lsn uint64, err error) {
	w, c := state.NewSnapshotWriter(&a.mu, &a.state), codec.NewWriter(to)
	c.Document(func(c *codec.Codec) {
		a.save(w, c, func(at *state.Instant) { at.Settings, a.savedLSN = a.savedSettings(), a.lsn })
	})
	return w.LSN(), c.Close()
}

// SnapshotMembers writes the members of the object that WriteSnapshot writes.
func (a *Account) SnapshotMembers(c *codec.Codec) {
	a.save(state.NewSnapshotWriter(&a.mu, &a.state), c, func(*state.Instant) {})
}

// save writes one snapshot at a time, because each object of the state has one mark for the
// snapshot that is being written. begun completes the instant, under the lock.
func (a *Account) save(w *state.SnapshotWriter, c *codec.Codec, begun func(*state.Instant)) {
	a.saves.Lock()
	defer a.saves.Unlock()
	a.briefly(func() {
		a.saveEpoch++
		a.saving = w
		a.stamp()
		at := state.Instant{Epoch: a.saveEpoch, Account: a.cfg.ID, Clock: a.mode, LSN: a.lsn}
		begun(&at)
		w.Begin(at)
	})
	defer a.briefly(func() { a.saving = nil })
	w.Members(c)
}

// briefly runs a part of a snapshot under the lock, without the time stamp of a command.
func (a *Account) briefly(part func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	part()
}

// touch must be called before an object of the state changes, so that a
// snapshot that is being written contains the old value.
func (a *Account) touch(v any) {
	if a.saving != nil {
		a.saving.Touch(v)
	}
}

// isNew excludes a new message from a snapshot that is being written.
func (a *Account) isNew(m *Message) {
	if a.saving != nil {
		a.saving.MarkNew(m)
	}
}

// Restore replaces the state by that of a snapshot; s can be used once. A manual clock is set
// to the time of the snapshot; a real clock that is behind continues from that time. Attempts
// in flight are cancelled and their outcomes ignored; an Advance in progress returns ErrEnded.
func (a *Account) Restore(s *Snapshot) error {
	return do(a, restore{s.Recorded(a.cfg.Journal != nil)})
}

type restore struct{ Snapshot *state.Recorded }

// apply keeps the time of a real clock that is ahead, and cancels messages with
// a pending cancel request: no attempt is left that could end them.
func (c restore) apply(a *Account) error {
	restored, err := (*Snapshot)(c.Snapshot).Take()
	if err != nil {
		return err
	}
	now := a.state.Now
	restored.ReadAnswers(a.cfg.Wire.ReadAnswer)
	a.replace(restored)
	a.restored++
	if a.mode == "real" && now.After(a.state.Now) {
		a.state.Now = now
	}
	a.follow(a.mode, nil)
	for _, m := range c.Snapshot.Canceling {
		a.cutOff(m)
	}
	return nil
}

// ReadSnapshot reads a document of WriteSnapshot, of this version or an earlier
// one. Its error names the damaged place.
func ReadSnapshot(from io.Reader) (*Snapshot, error) { return state.ReadSnapshot(from) }

// replace installs another state and cancels the attempts of the old one.
func (a *Account) replace(s state.State) {
	for _, stop := range a.cancels {
		stop()
	}
	clear(a.cancels)
	a.unweigh()
	if a.saving != nil {
		a.saving.Detach()
	}
	a.state = s
	a.replaced++
	a.weigh()
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}
