package engine

import (
	"io"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/internal/snapshot"
	"github.com/understudy-mock/understudy/engine/internal/state"
)

// WriteSnapshot writes the whole state as it is when the call begins, as one
// JSON object (docs/state.md). Attempts and commands continue meanwhile. The
// same state gives the same bytes.
//
// An attempt in flight is kept as ready: a restored account makes it again,
// under the same number, and logs no second ACTIVE. One that was being
// cancelled is cancelled by Restore.
func (a *Account) WriteSnapshot(to io.Writer) error {
	c := codec.NewWriter(to)
	c.Document(a.SnapshotMembers)
	return c.Close()
}

// SnapshotMembers writes the members of the object that WriteSnapshot writes.
func (a *Account) SnapshotMembers(c *codec.Codec) { a.save(snapshot.NewWriter(&a.mu, &a.state), c) }

// save writes one snapshot after the other: an object has one mark, and so a place in
// one snapshot at a time.
func (a *Account) save(w *snapshot.Writer, c *codec.Codec) {
	a.saves.Lock()
	defer a.saves.Unlock()
	a.briefly(func() {
		a.saveEpoch++
		a.saving = w
		a.stamp()
		w.Begin(snapshot.Instant{Epoch: a.saveEpoch, Account: a.cfg.ID, Clock: a.mode, LSN: a.lsn})
	})
	defer a.briefly(func() { a.saving = nil })
	w.Members(c)
}

// briefly holds the lock for a part of a snapshot, which is no command.
func (a *Account) briefly(part func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	part()
}

// touch is called before an object of the state changes, so that a snapshot that is being
// written has it as it was.
func (a *Account) touch(v any) {
	if a.saving != nil {
		a.saving.Touch(v)
	}
}

// isNew keeps a message that is created now out of a snapshot that is being written.
func (a *Account) isNew(m *Message) {
	if a.saving != nil {
		a.saving.MarkNew(m)
	}
}

// Restore replaces the state by that of a snapshot, which can be used once; a
// manual clock goes to its time, a real one that is behind continues from there.
// Attempts in flight are cut off, their outcomes ignored; an Advance under way
// ends with an error.
func (a *Account) Restore(s *Snapshot) error {
	return errorOnly(runCommand(a, restore{s.Recorded(a.cfg.Journal != nil)}))
}

type restore struct{ Snapshot *snapshot.Recorded }

// apply keeps the time of a real clock where that is ahead, and cancels what was being
// cancelled when the snapshot was written: no attempt is left that could end it.
func (c restore) apply(a *Account) (nothing, error) {
	restored, err := (*Snapshot)(c.Snapshot).Take()
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
	for _, m := range c.Snapshot.Canceling {
		a.cutOff(m)
	}
	return nothing{}, nil
}

// ReadSnapshot reads what WriteSnapshot has written, or an earlier version. An
// error names the place at which the document is damaged.
func ReadSnapshot(from io.Reader) (*Snapshot, error) { return snapshot.Read(from) }

// replace puts another state in place of what was.
func (a *Account) replace(s state.State) {
	for _, m := range a.state.Messages {
		if m.Cancel != nil {
			m.Cancel()
		}
	}
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
