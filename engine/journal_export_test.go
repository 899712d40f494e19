package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// kept is a journal as a store gives it.
type kept struct {
	tape     *tape
	snapshot []byte
	behind   int // records that are in the snapshot
}

func (k kept) About() []byte {
	return []byte(`{"token":"tok3n-of-the-account","stubs":[{"url":"*","answers":[{"status":200,"body":"x"}]}]}`)
}

func (k kept) Snapshot(context.Context) (io.Reader, error) {
	if k.snapshot == nil {
		return nil, nil
	}
	return bytes.NewReader(k.snapshot), nil
}

func (k kept) Records(context.Context) iter.Seq2[journal.Record, error] {
	return k.tape.after(k.behind)
}

// usedSecrets are what the lives below have put into the journal.
var usedSecrets = []string{"tok3n-of-the-account", "tok3n-of-the-header", "s3cret-of-the-url", "passw0rd", "c00kie", "s3cret-of-the-step", "ap1-key-of-the-answer"}

// withSecrets publishes what holds all of them.
func withSecrets(s *simulation) {
	header := engine.Header{"Authorization": {"Bearer tok3n-of-the-header"}, "Cookie": {"c00kie"}, "X-Plain": {"shown"}}
	url := "https://user:passw0rd@app.test/secret?token=s3cret-of-the-url&x=1"
	for range 2 { // the second is a duplicate
		_, _ = s.Publish(engine.PublishRequest{URL: url, Forward: header, Body: []byte("the body"), Options: engine.Options{DedupContent: true, Callback: &engine.Callback{URL: url, Options: engine.Options{HeaderForward: true}}}})
	}
	_, _ = s.Publish(engine.PublishRequest{URL: "https://app.test/wf", Forward: header, Options: engine.Options{Workflow: &engine.Workflow{Init: new(true), URL: "https://app.test/wf", RunID: "secretive"}}})
	within := engine.Workflow{Init: new(false), RunID: "secretive", URL: "https://app.test/wf"}
	_, _ = s.Publish(engine.PublishRequest{URL: "https://app.test/wf", Options: engine.Options{Workflow: &within},
		Body: []byte(`{"stepId":1,"stepName":"call","stepType":"Run","out":"what it returns","callHeaders":{"Authorization":"Bearer s3cret-of-the-step"}}`)})
	_, _ = s.AddEndpoints("secretive", []engine.Endpoint{{URL: url}})
	_, _, _ = s.RotateKeys()
	s.pass(3)
}

func TestAnExportedJournal(t *testing.T) {
	t.Parallel()
	lives := effort.Amount(t, "LIVES", 60, 300)
	for seed := range uint64(lives) {
		s := begun(t, seed, parallels[seed%3])
		s.unredacted = true // otherwise the file has no bodies, see TestNothingShowsWhatIsRedacted
		s.some(20)
		withSecrets(s)
		from := kept{tape: &s.journal}
		// What was forgotten to save memory leaves no message from which the marks of a
		// snapshot could be computed.
		if seed%2 == 1 && !slices.ContainsFunc(s.journal.copied(), func(r journal.Record) bool { return r.Kind == "forget" }) {
			var text bytes.Buffer
			lsn, err := s.SaveTo(&text)
			s.must(err)
			from.snapshot, from.behind = text.Bytes(), int(lsn)
			_, _ = s.Publish(s.request())
		}
		s.some(40)
		s.end()
		current, next := s.Keys()
		for _, bodies := range []bool{true, false} {
			name := filepath.Join(t.TempDir(), "journal.jsonl")
			s.exported(name, from, bodies)
			text, err := os.ReadFile(name)
			s.must(err)
			for _, secret := range append(slices.Clone(usedSecrets), current, next) {
				expect.Lacks(t, "the file", string(text), secret)
			}
			expect.Contains(t, "the file", string(text), "shown")
			expect.Equal(t, "the file has the bodies", bytes.Contains(text, []byte("the body")), bodies)
			if err := sameButDummies(s.document(), s.reread(name), bodies); err != nil {
				t.Errorf("seed %d, snapshot %t, bodies %t: %v", seed, from.snapshot != nil, bodies, err)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// exported writes the file.
func (s *simulation) exported(name string, from kept, bodies bool) {
	s.t.Helper()
	file, err := os.Create(name)
	s.must(err)
	begin := settingsOf(s)
	s.must(saved.Export(context.Background(), file, saved.ExportConfig{Program: "test", At: epoch, Bodies: bodies}, func(write func(tenant.History) error) error {
		return write(tenant.History{ID: "t", Settings: begin, Journal: from})
	}))
	s.must(file.Close())
}

// settingsOf are those that the life began with.
func settingsOf(s *simulation) tenant.Settings {
	cfg := s.config(s.seed, parallels[s.seed%3])
	var begin struct{ CurrentKey, NextKey string }
	s.must(json.Unmarshal(s.journal.records[0].Body, &begin))
	return tenant.Settings{CurrentKey: begin.CurrentKey, NextKey: begin.NextKey, Parallel: cfg.Parallel, VectorLag: cfg.VectorLag, VectorIndexes: cfg.VectorIndexes}
}

// reread is the state at the end of a file, as a document.
func (s *simulation) reread(name string) []byte {
	s.t.Helper()
	f, err := saved.OpenFile(name)
	s.must(err)
	defer f.Close()
	log, err := f.Open(context.Background(), "t")
	s.must(err)
	a, _, err := tenant.ReadHistory(context.Background(), f.Settings("t").Apply(engine.Config{ID: "t", Wire: wire.Format{}}), log, tenant.Until{})
	s.must(err)
	defer a.Close()
	return (&world{Account: a, t: s.t}).document()
}

// sameButDummies compares two documents: texts may differ where one of the first is a
// secret, or a body when these are left out, and then have the same length, and the
// same text always has the same dummy.
func sameButDummies(want, got []byte, bodies bool) error {
	var a, b any
	for text, to := range map[*[]byte]*any{&want: &a, &got: &b} {
		d := json.NewDecoder(bytes.NewReader(*text))
		d.UseNumber()
		if err := d.Decode(to); err != nil {
			return err
		}
	}
	c := comparison{bodies: bodies, dummies: map[string]string{}}
	return c.compare("", a, b)
}

type comparison struct {
	bodies  bool
	dummies map[string]string
}

func (c *comparison) compare(at string, a, b any) error {
	switch {
	case strings.HasPrefix(at, ".dedup[") && strings.Contains(at, ".key"):
		return nil // checksums of what is masked
	case strings.HasSuffix(at, ".dropped") && !c.bodies:
		return nil // what quotes a body is shorter when there is nothing to quote in it
	}
	switch x := a.(type) {
	case map[string]any:
		if coded, ok := x["base64"]; ok && !c.bodies {
			if _, ok := coded.(string); ok {
				return nil // a dummy is a text
			}
		}
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return fmt.Errorf("%s: want %v, got %v", at, a, b)
		}
		for name, v := range x {
			if err := c.compare(at+"."+name, v, y[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return fmt.Errorf("%s: want %v, got %v", at, a, b)
		}
		for i := range x {
			if err := c.compare(fmt.Sprintf("%s[%d]", at, i), x[i], y[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		y, ok := b.(string)
		if !ok {
			return fmt.Errorf("%s: want %q, got %v", at, x, b)
		}
		return c.texts(at, x, y)
	}
	if a != b {
		return fmt.Errorf("%s: want %v, got %v", at, a, b)
	}
	return nil
}

func (c *comparison) texts(at, x, y string) error {
	switch was, known := c.dummies[x]; {
	case x == y:
		return nil
	case known && was != y && c.bodies && !strings.Contains(x, "{"):
		return fmt.Errorf("%s: %q is %q here and %q elsewhere", at, x, y, was)
	case len(x) != len(y) && c.bodies:
		return fmt.Errorf("%s: want %q, got %q: another length", at, x, y)
	}
	c.dummies[x] = y
	secret := strings.HasPrefix(x, "sig_") || strings.HasPrefix(x, "srt_") || strings.HasPrefix(x, "srr_") || strings.Contains(at, ".X-Secret[") || strings.Contains(x, `"X-Secret":`) ||
		slices.ContainsFunc(usedSecrets, func(s string) bool { return strings.Contains(x, s) })
	if !secret && c.bodies {
		return fmt.Errorf("%s: want %q, got %q: no secret", at, x, y)
	}
	return nil
}

// An exported file of the first form, and the state at its end. EXPORT=1 rewrites them,
// from the golden journal.
const (
	goldenExport = "testdata/export-1.jsonl"
	goldenState  = "testdata/export-1.snapshot"
)

func TestTheGoldenExportReplaysToItsSnapshot(t *testing.T) {
	t.Parallel()
	s := begun(t, 4, 3)
	defer s.Close()
	if os.Getenv("EXPORT") != "" {
		golden := &simulation{world: world{t: t}, seed: 4}
		text, err := os.ReadFile(goldenJournal)
		s.must(err)
		for r, err := range journal.Read(bytes.NewReader(text)) {
			s.must(err)
			golden.journal.records = append(golden.journal.records, r)
		}
		golden.exported(goldenExport, kept{tape: &golden.journal}, true)
	}
	got := s.reread(goldenExport)
	if os.Getenv("EXPORT") != "" {
		s.must(os.WriteFile(goldenState, append(got, '\n'), 0o600))
	}
	want, err := os.ReadFile(goldenState)
	s.must(err)
	if want, got = withoutCauses(want), withoutCauses(got); !bytes.Equal(want, got) {
		t.Error(difference(want, got))
	}
}
