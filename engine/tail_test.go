package engine_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/effort"
)

// TestASnapshotAndTheRecordsBehindItAreTheJournal takes a snapshot in the middle of
// random lives, with attempts in flight, and replays what was recorded after it.
func TestASnapshotAndTheRecordsBehindItAreTheJournal(t *testing.T) {
	t.Parallel()
	lives := effort.Amount(t, "LIVES", 60, 600)
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Replay(s.config(3, 1), from, s.journal.all(s.journal.length())); err == nil {
		t.Error("records from the first one on were replayed behind a snapshot")
	}
}

// TestASnapshotOfABusyLifeIsTheStateOfItsRecord writes snapshots of random lives
// record by record, with commands of every kind between the records.
func TestASnapshotOfABusyLifeIsTheStateOfItsRecord(t *testing.T) {
	t.Parallel()
	lives := effort.Amount(t, "LIVES", 40, 400)
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
