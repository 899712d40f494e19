package engine_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// flakyJournal keeps the latest record, and fails while its error is set.
type flakyJournal struct {
	last journal.Record
	err  error
}

func (j *flakyJournal) Append(r journal.Record) { j.last = r }

func (j *flakyJournal) Commit(context.Context, uint64) error { return j.err }

// openWith is an empty account with a journal.
func openWith(t *testing.T, j journal.Journal) *engine.Account {
	t.Helper()
	a := engine.New(engine.Config{ID: "a", Clock: clock.NewManual(time.UnixMilli(0)), Wire: wire.Format{}, Journal: j, Seed: 7,
		Deliver: func(context.Context, engine.Attempt) engine.Outcome { return engine.Outcome{Status: 200} }})
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// publishLater publishes a message that waits for an hour, and gives its id.
func publishLater(t *testing.T, a *engine.Account) string {
	t.Helper()
	r, err := a.Publish(engine.PublishRequest{URL: "https://app.test/", Options: engine.Options{Delay: time.Hour}})
	expect.NoError(t, err)
	return r.One.MessageID
}

func documentOf(t *testing.T, a *engine.Account) []byte {
	t.Helper()
	var text bytes.Buffer
	expect.NoError(t, a.WriteSnapshot(&text))
	return text.Bytes()
}

func readDocument(t *testing.T, text []byte) *engine.Snapshot {
	t.Helper()
	s, err := engine.ReadSnapshot(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return s
}

// The state that a snapshot is written of may be replaced meanwhile: what the account
// has since then is no part of it.
func TestARestoreWhileASnapshotIsWritten(t *testing.T) {
	t.Parallel()
	other := openWith(t, nil)
	publishLater(t, other)
	second := publishLater(t, other)
	document := documentOf(t, other)
	a := openWith(t, nil)
	want := documentOf(t, a)

	var once sync.Once
	var text bytes.Buffer
	expect.NoError(t, engine.WriteSnapshotInParts(a, &text, 1, func() {
		once.Do(func() {
			if err := a.Restore(readDocument(t, document)); err != nil {
				t.Error(err)
			}
			if err := a.DeliverNow(second); err != nil {
				t.Error(err)
			}
		})
	}))
	if got := text.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A restore with a journal writes the document of the snapshot, which must not count as
// a snapshot of the account that takes its state.
func TestARestoreWithAJournal(t *testing.T) {
	t.Parallel()
	original := openWith(t, nil)
	publishLater(t, original)
	document := documentOf(t, original)

	t.Run("leaves everything to the first snapshot after it", func(t *testing.T) {
		t.Parallel()
		a := openWith(t, &flakyJournal{})
		expect.NoError(t, a.Restore(readDocument(t, document)))
		again := openWith(t, nil)
		expect.NoError(t, again.Restore(readDocument(t, documentOf(t, a))))
		if p, err := again.Messages(engine.Filter{}); err != nil || len(p.Items) != 1 {
			t.Errorf("%d messages, %v, want the one that was saved", len(p.Items), err)
		}
	})
	t.Run("records the same document when it is repeated", func(t *testing.T) {
		t.Parallel()
		j := &flakyJournal{}
		a, s := openWith(t, j), readDocument(t, document)
		j.err = errors.New("disk full")
		_, _, _ = a.RotateKeys() // its record is not durable, so that the restore is refused
		if err := a.Restore(s); !errors.Is(err, engine.ErrNotDurable) {
			t.Fatalf("got %v, want a refusal", err)
		}
		j.err = nil
		expect.NoError(t, a.Restore(s))
		recorded := bytes.TrimSuffix(bytes.TrimPrefix(j.last.Body, []byte(`{"Snapshot":`)), []byte("}"))
		if got := readDocument(t, recorded).Account; got != "a" {
			t.Errorf("account %q in the record %s", got, j.last.Body)
		}
	})
}
