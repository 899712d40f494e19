package engine_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
)

// The golden journal has commands of every kind. A journal that this version cannot
// replay to the golden snapshot needs higher journalRules, and the reason in the commit.
// UPDATE=1 writes both anew.
const (
	goldenJournal  = "testdata/journal-1.jsonl"
	goldenSnapshot = "testdata/journal-1.snapshot"
)

func TestTheGoldenJournalReplaysToTheGoldenSnapshot(t *testing.T) {
	t.Parallel()
	if os.Getenv("UPDATE") != "" {
		writeGolden(t)
	}
	text, err := os.ReadFile(goldenJournal)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(goldenSnapshot)
	if err != nil {
		t.Fatal(err)
	}
	s := begun(t, 4, 3)
	defer s.Close()
	a, err := engine.Replay(s.config(4, 3), nil, engine.ReadRecords(bytes.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got := (&world{Account: a, t: t}).document(); !bytes.Equal(bytes.TrimSpace(want), got) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	kinds := map[string]bool{}
	for r, err := range engine.ReadRecords(bytes.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[r.Kind] = true
	}
	for _, name := range engine.CommandKinds() {
		if !kinds[name] {
			t.Errorf("no command is of kind %s", name)
		}
	}
}

// writeGolden lives a life until a command of each kind was accepted.
func writeGolden(t *testing.T) {
	s := begun(t, 4, 3)
	seen := func(name string) bool {
		return slices.ContainsFunc(s.journal.records, func(r engine.Record) bool { return r.Kind == name })
	}
	s.must(s.Reset())
	for _, name := range slices.Concat([]string{"restore", "fixture", "repeatCallback", "putSchedule", "pauseSchedule", "resumeSchedule", "upsertVectors", "deleteVectorNamespace", "startResumable", "nextResumable", "endResumable", "addEndpoints", "removeEndpoints"}, actNames) {
		for range 60 {
			if seen(name) {
				break
			}
			s.pass(3)
			_ = acts[name](s)
			if !seen(name) {
				_, _ = s.Publish(s.request())
				s.opened(func(ctx context.Context) { _, _ = s.Advance(ctx, s.Now().Add(time.Second)) })
			}
		}
	}
	s.must(s.ResetClock(engine.NewManual(epoch), false))
	for range 12 {
		_, _ = s.Publish(s.request())
	}
	s.settleAll()
	s.must(s.Close())
	var lines bytes.Buffer
	for _, r := range s.journal.records {
		s.must(engine.WriteRecord(&lines, r))
	}
	s.must(os.WriteFile(goldenJournal, lines.Bytes(), 0o600))
	s.must(os.WriteFile(goldenSnapshot, append(s.document(), '\n'), 0o600))
}
