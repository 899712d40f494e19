package engine_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// The golden journal has commands of every kind. A journal that this version cannot
// replay to the golden snapshot needs higher journalRules, and the reason in the commit.
// UPDATE=1 rewrites both.
const (
	goldenJournal  = "testdata/journal-1.jsonl"
	goldenSnapshot = "testdata/journal-1.snapshot"
)

// withoutCauses is a snapshot without the causes of failed runs, whose words differ between versions.
func withoutCauses(snapshot []byte) []byte {
	return causes.ReplaceAll(bytes.TrimSpace(snapshot), nil)
}

var causes = regexp.MustCompile(`"cause":"(?:[^"\\]|\\.)*",`)

func TestTheGoldenJournalReplaysToTheGoldenSnapshot(t *testing.T) {
	t.Parallel()
	if os.Getenv("UPDATE") != "" {
		writeGolden(t)
	}
	text, err := os.ReadFile(goldenJournal)
	expect.NoError(t, err)
	want, err := os.ReadFile(goldenSnapshot)
	expect.NoError(t, err)
	s := begun(t, 4, 3)
	defer s.Close()
	a, err := engine.Replay(s.config(4, 3), nil, journal.Read(bytes.NewReader(text)))
	expect.NoError(t, err)
	defer a.Close()
	if got := (&world{Account: a, t: t}).document(); !bytes.Equal(withoutCauses(want), withoutCauses(got)) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	kinds := map[string]bool{}
	for r, err := range journal.Read(bytes.NewReader(text)) {
		expect.NoError(t, err)
		kinds[r.Kind] = true
	}
	for _, name := range engine.CommandKinds() {
		if !kinds[name] {
			t.Errorf("no command is of kind %s", name)
		}
	}
}

// writeGolden lives lives until commands of all kinds were accepted, and keeps the
// shortest such life of some.
func writeGolden(t *testing.T) {
	var best *simulation
	for seed := range uint64(40) {
		s := complete(t, seed)
		if s != nil && (best == nil || len(s.journal.records) < len(best.journal.records)) {
			best = s
		}
	}
	if best == nil {
		t.Fatal("no life has commands of all kinds")
	}
	var lines bytes.Buffer
	for _, r := range best.journal.records {
		best.must(journal.Write(&lines, r))
	}
	best.must(os.WriteFile(goldenJournal, lines.Bytes(), 0o600))
	best.must(os.WriteFile(goldenSnapshot, append(best.document(), '\n'), 0o600))
}

// complete is a life with commands of all kinds, nil if chance makes none.
func complete(t *testing.T, seed uint64) *simulation {
	s := begun(t, seed, 3)
	missing := func(name string) bool {
		return !slices.ContainsFunc(s.journal.records, func(r journal.Record) bool { return r.Kind == name })
	}
	for tries := range 1200 {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(acts)), func(name string) bool { return !missing(name) })
		if len(names) == 0 {
			s.settleAll()
			s.must(s.Close())
			return s
		}
		s.pass(3)
		_ = acts[names[s.IntN(len(names))]](s)
		if tries%20 == 0 {
			_ = s.fixture()
		}
		if tries%3 == 0 {
			_, _ = s.Publish(s.request())
			s.opened(func(ctx context.Context) { _, _ = s.Advance(ctx, s.Now().Add(time.Second)) })
		}
	}
	_ = s.Close()
	return nil
}

// TestAJournalHasTheHeadersOfAMessageAsAnObject reads a record that an earlier version wrote:
// headers are objects with lists of texts, whatever a message keeps.
func TestAJournalHasTheHeadersOfAMessageAsAnObject(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(goldenJournal)
	expect.NoError(t, err)
	begin, _, _ := bytes.Cut(text, []byte("\n"))
	const publish = `{"lsn":2,"at":1800000000000,"kind":"publish","body":{"URL":"https://app.test/8","Options":{"Delay":"1h"},"Header":{"Content-Type":["text/plain"],"X-Two":["a","b"]},"Body":"x"}}`
	s := begun(t, 4, 3)
	defer s.Close()
	a, err := engine.Replay(s.config(4, 3), nil, journal.Read(strings.NewReader(string(begin)+"\n"+publish+"\n")))
	expect.NoError(t, err)
	defer a.Close()
	if got := string((&world{Account: a, t: t}).document()); !strings.Contains(got, `"header":{"Content-Type":["text/plain"],"X-Two":["a","b"]}`) {
		t.Errorf("the headers are not in the snapshot: %s", got)
	}
}

// TestARecordThatIsReadIsWrittenWithTheSameBytes compares all commands of the golden journal.
func TestARecordThatIsReadIsWrittenWithTheSameBytes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(goldenJournal)
	expect.NoError(t, err)
	for r, err := range journal.Read(bytes.NewReader(text)) {
		expect.NoError(t, err)
		if again, err := engine.Rewritten(r); err != nil || !bytes.Equal(again, r.Body) {
			t.Errorf("record %d, %s: got %s, %v, want %s", r.LSN, r.Kind, again, err, r.Body)
		}
	}
}
