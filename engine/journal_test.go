package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// faulty is a journal whose commits fail while it is broken.
type faulty struct {
	tape
	broken  atomic.Bool
	commits atomic.Int64
}

var errDisk = errors.New("disk full")

func (f *faulty) Commit(context.Context, uint64) error {
	f.commits.Add(1)
	if f.broken.Load() {
		return errDisk
	}
	return nil
}

func journaled(t *testing.T) (*world, *faulty) {
	t.Helper()
	j := &faulty{}
	return setup(t, func(c *engine.Config) { c.Journal = j }), j
}

func TestAJournalThatFails(t *testing.T) {
	t.Parallel()
	// lost is an account whose journal has failed at a publish.
	lost := func(t *testing.T) (*world, *faulty, error) {
		w, j := journaled(t)
		j.broken.Store(true)
		_, err := w.Publish(engine.PublishRequest{URL: sink})
		return w, j, err
	}
	t.Run("the caller receives its kind and its reason", func(t *testing.T) {
		t.Parallel()
		_, _, err := lost(t)
		if expect.True(t, "an error of the kind ErrNotDurable", errors.Is(err, engine.ErrNotDurable)) {
			expect.Contains(t, "error", err.Error(), "disk full")
			expect.Lacks(t, "error", err.Error(), "\n")
		}
	})
	t.Run("no attempt is made", func(t *testing.T) {
		t.Parallel()
		w, j, _ := lost(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := w.Settle(ctx); !errors.Is(err, context.DeadlineExceeded) || len(w.made()) != 0 {
			t.Errorf("settle: %v, %d attempts", err, len(w.made()))
		}
		j.broken.Store(false)
	})
	t.Run("further commands are refused and change nothing", func(t *testing.T) {
		t.Parallel()
		w, j, _ := lost(t)
		before, records := w.document(), len(j.records)
		if err := w.SetFlowPaused("k", true); !errors.Is(err, engine.ErrNotDurable) {
			t.Errorf("pause: %v", err)
		}
		if _, err := w.Advance(t.Context(), epoch.Add(time.Hour)); !errors.Is(err, engine.ErrNotDurable) {
			t.Errorf("advance: %v", err)
		}
		if after := w.document(); !bytes.Equal(before, after) || len(j.records) != records {
			t.Errorf("%d records, then %d; the state was:\n%s\nand is:\n%s", records, len(j.records), before, after)
		}
		j.broken.Store(false)
	})
	t.Run("reading continues", func(t *testing.T) {
		t.Parallel()
		w, j, _ := lost(t)
		if p, err := w.Messages(engine.Filter{}); err != nil || len(p.Items) != 1 {
			t.Errorf("%d messages, %v", len(p.Items), err)
		}
		j.broken.Store(false)
	})
	t.Run("when it works again, what was applied takes effect as a whole", func(t *testing.T) {
		t.Parallel()
		w, j, _ := lost(t)
		j.broken.Store(false)
		w.publish(engine.Options{})
		w.settle()
		expect.Equal(t, "number of attempts", len(w.made()), 2)
		w.must(w.Close())
		again, err := engine.Replay(engine.Config{ID: "t", Clock: clock.NewManual(epoch), Wire: wire.Format{}}, nil, j.all(len(j.records)))
		w.must(err)
		defer again.Close()
		if want, got := w.document(), (&world{Account: again, t: t}).document(); !bytes.Equal(want, got) {
			t.Errorf("live:\n%s\nreplayed:\n%s", want, got)
		}
	})
	t.Run("an attempt starts without another command", func(t *testing.T) {
		t.Parallel()
		w, j, _ := lost(t)
		j.broken.Store(false)
		w.must(w.Settle(t.Context()))
		expect.Equal(t, "number of attempts", len(w.made()), 1)
	})
}

func TestAnAttemptFollowsTheCommitOfItsRecord(t *testing.T) {
	t.Parallel()
	j := &faulty{}
	w := setup(t, func(c *engine.Config) { c.Journal = j })
	seen := make(chan int64, 1)
	w.answer = func(engine.Attempt) engine.Outcome {
		seen <- j.commits.Load()
		return engine.Outcome{Status: 200}
	}
	before := j.commits.Load()
	w.publish(engine.Options{})
	if got := <-seen; got <= before {
		t.Error("the attempt was made before any commit")
	}
	w.settle()
}

func TestARefusedCommandIsNotRecorded(t *testing.T) {
	t.Parallel()
	w, j := journaled(t)
	records := len(j.records)
	for _, name := range []string{"an unknown key", "a batch whose last item names no group", "a queue without places", "a schedule that is not a step"} {
		if err := refusals[name](w); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := j.records[records:]; len(got) != 0 {
		t.Errorf("records %v", got)
	}
}

// header is the first record of a journal with a part of its text replaced.
func header(t *testing.T, old, now string) journal.Record {
	t.Helper()
	_, j := journaled(t)
	r := j.records[0]
	body := bytes.Replace(r.Body, []byte(old), []byte(now), 1)
	if bytes.Equal(body, r.Body) {
		t.Fatalf("%s is not in %s", old, r.Body)
	}
	r.Body = body
	return r
}

func TestAJournalThatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	publish := journal.Record{LSN: 2, At: epoch, Kind: "publish", Body: []byte(`{"URL":"https://app.test/"}`)}
	begin := func(t *testing.T) journal.Record { _, j := journaled(t); return j.records[0] }
	for name, c := range map[string]struct {
		records func(t *testing.T) []journal.Record
		want    string
	}{
		"other rules":     {func(t *testing.T) []journal.Record { return []journal.Record{header(t, `"Rules":3`, `"Rules":4`)} }, "rules 4; this version has rules 3: replay it with version"},
		"no header":       {func(*testing.T) []journal.Record { return []journal.Record{publish} }, "must be its header or a snapshot"},
		"a gap":           {func(t *testing.T) []journal.Record { r := publish; r.LSN = 3; return []journal.Record{begin(t), r} }, "record 3 follows record 1"},
		"an unknown kind": {func(t *testing.T) []journal.Record { r := publish; r.Kind = "x"; return []journal.Record{begin(t), r} }, `unknown kind "x"`},
		"a damaged body": {func(t *testing.T) []journal.Record {
			r := publish
			r.Body = []byte(`{"URL":`)
			return []journal.Record{begin(t), r}
		}, "record 2, publish: damaged"},
		"a command that was never accepted": {func(t *testing.T) []journal.Record {
			return []journal.Record{begin(t), {LSN: 2, At: epoch, Kind: "resumeFlow", Body: []byte(`{"Key":"k"}`)}}
		}, "record 2, resumeFlow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := tape{records: c.records(t)}
			_, err := engine.Open(engine.Config{ID: "t", Clock: clock.NewManual(epoch), Wire: wire.Format{}}, nil, records.all(9))
			if expect.True(t, "an error", err != nil) {
				expect.Contains(t, "error", err.Error(), c.want)
				expect.Lacks(t, "error", err.Error(), "\n")
			}
		})
	}
}

func TestAReplayedAccountStandsStill(t *testing.T) {
	t.Parallel()
	w, j := journaled(t)
	w.publish(engine.Options{Delay: time.Hour})
	a, err := engine.Replay(engine.Config{ID: "t", Clock: clock.NewReal(), Wire: wire.Format{}}, nil, j.all(9))
	w.must(err)
	defer a.Close()
	if _, err := a.Publish(engine.PublishRequest{URL: sink}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("publish: %v, want ErrClosed", err)
	}
	if now := a.Now(); !now.Equal(epoch) {
		t.Errorf("time is %s, want %s", now, epoch)
	}
}

func TestAJournalContinuesAfterASecondStart(t *testing.T) {
	t.Parallel()
	first, j := journaled(t)
	first.publish(engine.Options{Delay: time.Hour})
	first.must(first.Close())
	second := &world{t: t}
	cfg := engine.Config{ID: "t", Clock: clock.NewManual(epoch.Add(time.Minute)), Deliver: second.Deliver, Wire: wire.Format{}, Strict: true, Parallel: 7, Journal: j}
	a, err := engine.Open(cfg, nil, j.all(len(j.records)))
	first.must(err)
	second.Account = a
	defer a.Close()
	second.advance(2 * time.Hour)
	expect.Equal(t, "number of attempts", len(second.made()), 1)
	if o, _ := a.Overview(); o.Parallel != 7 {
		t.Errorf("parallelism %d, want 7", o.Parallel)
	}
	for i, r := range j.records {
		if r.LSN != uint64(i+1) {
			t.Fatalf("record %d has LSN %d", i+1, r.LSN)
		}
	}
	third, err := engine.Replay(cfg, nil, j.all(len(j.records)))
	first.must(err)
	defer third.Close()
	if want, got := second.document(), (&world{Account: third, t: t}).document(); !bytes.Equal(want, got) {
		t.Errorf("live:\n%s\nreplayed:\n%s", want, got)
	}
}

func TestRecordsAreLines(t *testing.T) {
	t.Parallel()
	w, j := journaled(t)
	w.publish(engine.Options{Labels: []string{"caf\xe9"}})
	w.must(w.Close())
	var text bytes.Buffer
	for _, r := range j.records {
		w.must(journal.Write(&text, r))
	}
	expect.Equal(t, "number of lines", strings.Count(text.String(), "\n"), len(j.records))
	var read []journal.Record
	for r, err := range journal.Read(&text) {
		w.must(err)
		read = append(read, r)
	}
	if !slices.EqualFunc(read, j.records, func(x, y journal.Record) bool {
		return x.LSN == y.LSN && x.At.Equal(y.At) && x.Kind == y.Kind && bytes.Equal(x.Body, y.Body)
	}) {
		t.Errorf("read %v, want %v", read, j.records)
	}
}

// FuzzJournal: whatever is read as a journal is refused in one line, or becomes an
// account that can be read.
func FuzzJournal(f *testing.F) {
	text, err := os.ReadFile("testdata/journal-1.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	f.Add(text)
	for i := range lines {
		f.Add(bytes.Join(lines[:i], nil))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := engine.Replay(engine.Config{ID: "t", Clock: clock.NewManual(epoch), Wire: wire.Format{}}, nil, journal.Read(bytes.NewReader(text)))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			return
		}
		defer a.Close()
		(&world{Account: a, t: t}).document()
	})
}
