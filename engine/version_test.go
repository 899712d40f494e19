package engine_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// still replays without a clock of its own.
var still = engine.Config{ID: "t", Clock: clock.NewManual(epoch), Wire: wire.Format{}}

// written replaces a part of the first record: a journal as another version writes it.
func (f *faulty) written(old, now string) {
	f.records[0].Body = bytes.Replace(f.records[0].Body, []byte(old), []byte(now), 1)
}

func unsaved(w *world) bool {
	o, _ := w.Overview()
	return o.Unsaved
}

// A journal of a version with other libraries is refused only where one of them has computed
// something, and the line says what.
func TestAnotherVersionOfALibrary(t *testing.T) {
	t.Parallel()
	hourly := func(cron string) func(w *world) {
		return func(w *world) {
			_, err := w.PutSchedule("nightly", cron, engine.PublishRequest{URL: sink})
			w.must(err)
			w.advance(time.Hour)
		}
	}
	failing := func(options engine.Options) func(w *world) {
		return func(w *world) {
			w.answer = func(engine.Attempt) engine.Outcome { return engine.Outcome{Status: 500} }
			w.publish(options)
			w.settle()
		}
	}
	f, err := engine.ParseFormula("1000 * (1 + retried)")
	expect.NoError(t, err)
	const cron, zones = `"github.com/adhocore/gronx `, `"Zones":"`
	for name, c := range map[string]struct {
		differs string // a part of the first record
		act     func(w *world)
		want    string // "": it is replayed
	}{
		"cron, with a schedule":         {cron, hourly("0 * * * *"), `schedule "nightly": 0 * * * * was computed with github.com/adhocore/gronx 0.`},
		"cron, without a schedule":      {cron, failing(engine.Options{RetryDelay: f}), ""},
		"zones, with a schedule in one": {zones, hourly("CRON_TZ=Europe/Berlin 0 * * * *"), `schedule "nightly": CRON_TZ=Europe/Berlin 0 * * * * was computed with other time-zone data`},
		"zones, with a schedule of UTC": {zones, hourly("0 * * * *"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, j := journaled(t)
			j.written(c.differs, c.differs+"0.")
			c.act(w)
			w.must(w.Close())
			a, err := engine.Replay(still, nil, j.all(len(j.records)))
			if c.want == "" {
				w.must(err)
				w.must(a.Close())
				return
			}
			if expect.True(t, "an error", err != nil) {
				expect.Contains(t, "error", err.Error(), c.want)
				expect.Contains(t, "error", err.Error(), "start that version on the same data and stop it cleanly")
				expect.Lacks(t, "error", err.Error(), "\n")
			}
		})
	}
}

// What another version has computed is no matter once a snapshot has it, and the snapshot
// still says of the records behind it who has written them.
func TestASnapshotFreesAJournalFromItsVersion(t *testing.T) {
	t.Parallel()
	w, j := journaled(t)
	_, err := w.PutSchedule("nightly", "0 * * * *", engine.PublishRequest{URL: sink})
	w.must(err)
	expect.Equal(t, "it has unsaved records", unsaved(w), true)
	var text bytes.Buffer
	lsn, err := w.SaveTo(&text)
	w.must(err)
	expect.Equal(t, "with a snapshot it has unsaved records", unsaved(w), false)
	w.publish(engine.Options{Delay: time.Hour})
	reopen := func(text string) error {
		from, err := engine.ReadSnapshot(bytes.NewReader([]byte(text)))
		w.must(err)
		a, err := engine.Replay(still, from, j.after(int(lsn)))
		if err == nil {
			err = a.Close()
		}
		return err
	}
	other := bytes.Replace(text.Bytes(), []byte(`gronx `), []byte(`gronx 0.`), 1)
	expect.Lacks(t, "the snapshot", text.String(), string(other))
	w.must(reopen(string(other)))
	w.advance(time.Hour) // the schedule is due
	if err := reopen(string(other)); expect.True(t, "an error", err != nil) {
		expect.Contains(t, "error", err.Error(), `schedule "nightly": 0 * * * *`)
	}
	w.must(reopen(text.String()))
}

// Records behind a snapshot are replayed with the settings of their writer, whatever those of
// the next start are.
func TestASnapshotHasItsSettings(t *testing.T) {
	t.Parallel()
	j := &faulty{}
	indexes := []vector.Config{{Name: "i", Type: vector.Dense, Similarity: vector.Cosine, Dimension: 2}}
	w := setup(t, func(c *engine.Config) {
		c.Journal, c.Parallel, c.VectorLag, c.VectorIndexes = j, 2, time.Minute, indexes
	})
	held := make(chan struct{})
	w.answer = func(engine.Attempt) engine.Outcome { <-held; return engine.Outcome{Status: 500} }
	for range 4 {
		w.publish(engine.Options{})
	}
	var text bytes.Buffer
	lsn, err := w.SaveTo(&text)
	w.must(err)
	_, err = engine.ChangeVectors(w.Account, "i", vector.UpsertCommand{Vectors: []vector.Vector{{ID: "a", Values: []float32{1, 0}}}})
	w.must(err)
	close(held)
	w.settle()
	w.advance(30 * time.Second)
	w.must(w.Close())
	from, err := engine.ReadSnapshot(&text)
	w.must(err)
	cfg := still
	cfg.Parallel, cfg.Seed, cfg.VectorLag = 64, 7, time.Hour
	a, err := engine.Replay(cfg, from, j.after(int(lsn)))
	w.must(err)
	defer a.Close()
	if want, got := w.document(), (&world{Account: a, t: t}).document(); !bytes.Equal(want, got) {
		t.Errorf("live:\n%s\nreplayed:\n%s", want, got)
	}
}
