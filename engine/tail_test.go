package engine_test

import (
	"bytes"
	"iter"
	"regexp"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// TestASnapshotAndTheRecordsBehindItAreTheJournal takes a snapshot in the middle of
// random lives, with attempts in flight, and replays what was recorded after it.
func TestASnapshotAndTheRecordsBehindItAreTheJournal(t *testing.T) {
	t.Parallel()
	lives := effort.Amount(t, "LIVES", 60, 300)
	tried := 0
	for seed := range uint64(lives) {
		parallel := parallels[seed%3]
		s := begun(t, seed, parallel)
		current, next := s.Keys()
		s.some(10 + s.IntN(40))
		before := s.journal.length()
		saved := s.document()
		quiet := s.journal.length() == before // no outcome came meanwhile
		s.some(s.IntN(40))
		s.end()
		if !quiet {
			continue
		}
		tried++
		if err := s.replayedFrom(saved, before, current, next); err != nil {
			t.Errorf("seed %d, parallelism %d, snapshot after record %d of %d: %v", seed, parallel, before, s.journal.length(), err)
		}
	}
	if tried < lives/2 {
		t.Errorf("only %d of %d lives had a quiet moment", tried, lives)
	}
}

func TestARecordThatDoesNotFollowASnapshotIsRefused(t *testing.T) {
	t.Parallel()
	s := begun(t, 3, 1)
	s.some(20)
	saved := s.document()
	s.some(20)
	s.end()
	from, err := engine.ReadSnapshot(bytes.NewReader(saved))
	expect.NoError(t, err)
	if _, err := engine.Replay(s.config(3, 1), from, s.journal.all(s.journal.length())); err == nil {
		t.Error("records from the first one on were replayed behind a snapshot")
	}
}

// TestASnapshotOfABusyLifeIsTheStateOfItsRecord writes snapshots of random lives
// record by record, with commands of every kind between the records.
func TestASnapshotOfABusyLifeIsTheStateOfItsRecord(t *testing.T) {
	t.Parallel()
	lives := effort.Amount(t, "LIVES", 40, 200)
	compared := 0
	for seed := range uint64(lives) {
		s := begun(t, seed, parallels[seed%3])
		s.some(10 + s.IntN(40))
		s.must(s.SetClock(clock.NewManual(s.Now()), false)) // a real one makes two snapshots of one state differ
		want := s.document()
		s.saving = true
		var got bytes.Buffer
		calls, every := 0, 1+s.IntN(5)
		s.must(engine.WriteSnapshotInParts(s.Account, &got, 1, func() {
			if calls++; calls%every == 0 && calls < 200 {
				s.some(1)
			}
		}))
		s.saving = false
		s.end()
		if recordOf(want) != recordOf(got.Bytes()) {
			continue // the outcome of an attempt came between the two
		}
		compared++
		if !bytes.Equal(want, got.Bytes()) {
			t.Errorf("seed %d: %s", seed, difference(want, got.Bytes()))
		}
	}
	if compared < lives/2 {
		t.Errorf("only %d of %d lives had a quiet moment", compared, lives)
	}
}

var recordMember = regexp.MustCompile(`"lsn":(\d+)`)

// recordOf is the record whose state a snapshot is, as text.
func recordOf(snapshot []byte) string { return string(recordMember.Find(snapshot)) }

// What was cancelled while its destination had no place for it keeps its part in the order of
// what starts next, so that the records behind a snapshot find the attempts that they are about.
func TestWhatWasCancelledWhileItWaitedForAPlaceKeepsTheOrder(t *testing.T) {
	t.Parallel()
	account := func(t *testing.T) (*tape, *world, *places, engine.Config) {
		w, p := manyPlaces(t, 3, "https://a.test/1", "https://a.test/2", "https://a.test/3")
		w.must(w.Close())
		var records tape
		cfg := engine.Config{ID: "t", Clock: clock.NewManual(epoch), Deliver: p.Deliver, Wire: wire.Format{}, Parallel: 3, Journal: &records}
		w.Account = engine.New(cfg)
		t.Cleanup(func() { _ = w.Close() })
		for _, url := range []string{"https://a.test/1", "https://a.test/2"} {
			w.sendAll(url+"?n=", 1, engine.Options{})
			p.reach(url, 1)
		}
		cfg.Journal = nil
		cfg.CurrentKey, cfg.NextKey = w.Keys()
		return &records, w, p, cfg
	}
	replay := func(t *testing.T, cfg engine.Config, saved []byte, records iter.Seq2[journal.Record, error]) []byte {
		from, err := engine.ReadSnapshot(bytes.NewReader(saved))
		expect.NoError(t, err)
		again, err := engine.Replay(cfg, from, records)
		expect.NoError(t, err)
		defer again.Close()
		return (&world{Account: again, t: t}).document()
	}
	t.Run("a message", func(t *testing.T) {
		t.Parallel()
		records, w, p, cfg := account(t)
		cut := w.send(engine.PublishRequest{URL: "https://a.test/2?cut"}).One.MessageID
		w.sendAll("https://a.test/2?later=", 1, engine.Options{})
		w.must(w.Cancel(cut))
		saved, before := w.document(), records.length()
		w.sendAll("https://a.test/3?n=", 1, engine.Options{})
		p.gate["https://a.test/2"] <- struct{}{}
		p.reach("https://a.test/3", 1) // since the turn of the cancelled message is over
		p.gate["https://a.test/3"] <- struct{}{}
		p.reach("https://a.test/2", 2)
		replay(t, cfg, saved, records.after(before))
	})
	t.Run("the first message of a key", func(t *testing.T) {
		t.Parallel()
		_, w, _, cfg := account(t)
		flow := engine.Options{Flow: &engine.FlowControl{Key: "k", Parallelism: 1}}
		cut := w.send(engine.PublishRequest{URL: "https://a.test/2?cut", Options: flow}).One.MessageID
		w.sendAll("https://b.test/", 1, flow)
		w.must(w.Cancel(cut))
		saved := w.document()
		if got := replay(t, cfg, saved, func(func(journal.Record, error) bool) {}); !bytes.Equal(got, saved) {
			t.Error(difference(saved, got))
		}
	})
}
