package engine_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// flakyJournal keeps the latest record, and fails while its error is set.
type flakyJournal struct {
	last journal.Record
	err  error
}

func (j *flakyJournal) Append(r journal.Record) { j.last = r }

func (j *flakyJournal) Commit(context.Context, uint64) error { return j.err }

// A restore with a journal writes the document of the snapshot, which must not count as
// a snapshot of the account that takes its state.
func TestARestoreWithAJournal(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, j journal.Journal) *engine.Account {
		a := engine.New(engine.Config{ID: "a", Clock: clock.NewManual(time.UnixMilli(0)), Wire: wire.Format{}, Journal: j, Seed: 7,
			Deliver: func(context.Context, engine.Attempt) engine.Outcome { return engine.Outcome{Status: 200} }})
		t.Cleanup(func() { _ = a.Close() })
		return a
	}
	saved := func(t *testing.T, a *engine.Account) []byte {
		var text bytes.Buffer
		if err := a.WriteSnapshot(&text); err != nil {
			t.Fatal(err)
		}
		return text.Bytes()
	}
	read := func(t *testing.T, text []byte) *engine.Snapshot {
		s, err := engine.ReadSnapshot(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return s
	}
	original := open(t, nil)
	if _, err := original.Publish(engine.PublishRequest{URL: "https://app.test/", Options: engine.Options{Delay: time.Hour, Queue: "q"}}); err != nil {
		t.Fatal(err)
	}
	document := saved(t, original)

	t.Run("leaves everything to the first snapshot after it", func(t *testing.T) {
		t.Parallel()
		a := open(t, &flakyJournal{})
		if err := a.Restore(read(t, document)); err != nil {
			t.Fatal(err)
		}
		again := open(t, nil)
		if err := again.Restore(read(t, saved(t, a))); err != nil {
			t.Fatal(err)
		}
		if p, err := again.Messages(engine.Filter{}); err != nil || len(p.Items) != 1 {
			t.Errorf("%d messages, %v, want the one that was saved", len(p.Items), err)
		}
	})
	t.Run("records the same document when it is repeated", func(t *testing.T) {
		t.Parallel()
		j := &flakyJournal{}
		a, s := open(t, j), read(t, document)
		j.err = errors.New("disk full")
		_, _, _ = a.RotateKeys() // its record is not durable, so that the restore is refused
		if err := a.Restore(s); !errors.Is(err, engine.ErrNotDurable) {
			t.Fatalf("got %v, want a refusal", err)
		}
		j.err = nil
		if err := a.Restore(s); err != nil {
			t.Fatal(err)
		}
		recorded := bytes.TrimSuffix(bytes.TrimPrefix(j.last.Body, []byte(`{"Snapshot":`)), []byte("}"))
		if got := read(t, recorded).Account; got != "a" {
			t.Errorf("account %q in the record %s", got, j.last.Body)
		}
	})
}
