package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/storetest"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestStoreContract(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t *testing.T) func() store.Store {
		dir := t.TempDir()
		return func() store.Store { return opened(t, Config{Dir: dir}) }
	})
}

func opened(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	expect.NoError(t, err)
	return s
}

func TestFolderIsUsedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, Config{Dir: dir})
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, store.ErrInUse) {
		t.Errorf("got %v, want %v", err, store.ErrInUse)
	}
	storetest.Close(t, s)
	storetest.Close(t, opened(t, Config{Dir: dir}))
}

// A disk that does not answer ends a wait with an error, and the record becomes durable
// when the disk does answer.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	s := opened(t, Config{Dir: t.TempDir(), Timeout: time.Second})
	defer storetest.Close(t, s)
	l := storetest.Opened(t, s, "shop")
	s.turn <- struct{}{} // like a transaction that hangs
	l.Append(storetest.Record(1))
	for taken := false; !taken; { // wait until the writer takes the record, before anything waits for it
		if err := clock.Pause(t.Context(), time.Millisecond); err != nil {
			t.Fatal("the record is not written")
		}
		s.mu.Lock()
		taken = s.current != nil
		s.mu.Unlock()
	}
	const want = "the disk has not answered for 1s"
	for _, c := range []struct {
		name string
		err  error
	}{{"a commit", l.Commit(t.Context(), 1)}, {"the about data", l.SetAbout(t.Context(), []byte("about"))}, {"a read", errorOf(s.Accounts(t.Context()))}} {
		if c.err == nil || !strings.Contains(c.err.Error(), want) {
			t.Errorf("%s: got %v, want %q", c.name, c.err, want)
		}
	}
	<-s.turn
	for s.Stats().Records == 0 { // without a commit
		if err := clock.Pause(t.Context(), time.Millisecond); err != nil {
			t.Fatal("the record is not durable")
		}
	}
}

// If a statement hangs, every other call ends with an error, including Close. When the disk
// answers again, the result is the same as after a short delay.
func TestHangingStatement(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, Config{Dir: dir, Timeout: 2 * time.Second})
	l := storetest.Opened(t, s, "shop")
	storetest.Fill(t, l, 1, 3)
	save := func(text string) error {
		return l.Save(t.Context(), func(w io.Writer) (uint64, error) { _, err := io.WriteString(w, text); return 2, err })
	}
	expect.NoError(t, save("first"))
	answers := make(chan struct{})
	hanging := s.update(t.Context(), func(exec) error { <-answers; return nil })
	l.Append(storetest.Record(4))
	var ofRecords error
	for _, err := range l.Records(t.Context()) {
		ofRecords = err
	}
	for _, c := range []struct {
		name string
		err  error
	}{
		{"the statement itself", hanging},
		{"a commit", l.Commit(t.Context(), 4)},
		{"a new account", errorOf(s.Open(t.Context(), "blog"))},
		{"the list of accounts", errorOf(s.Accounts(t.Context()))},
		{"the records", ofRecords},
		{"a snapshot", errorOf(l.Snapshot(t.Context()))},
		{"saving a snapshot", save("second")},
		{"closing the account", l.Close()},
		{"closing the folder", s.Close()},
	} {
		if !errors.Is(c.err, store.ErrUnanswered) || strings.Contains(c.err.Error(), "\n") {
			t.Errorf("%s: got %v, want %v in one line", c.name, c.err, store.ErrUnanswered)
		}
	}
	close(answers)
	<-s.written
	s.turn <- struct{}{} // all work has ended
	expect.NoError(t, s.letGo())
	again := opened(t, Config{Dir: dir})
	defer storetest.Close(t, again)
	if got := storetest.Numbers(t, storetest.Opened(t, again, "shop")); !slices.Equal(got, storetest.Span(3, 4)) {
		t.Errorf("records %v, want 3 and 4", got)
	}
}

// A full disk is logged once, and once again when records can be written.
func TestTheLogHasAFullDisk(t *testing.T) {
	t.Parallel()
	text := &bytes.Buffer{}
	s := opened(t, Config{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(text, nil))})
	l := storetest.Opened(t, s, "shop")
	limit := func(pages int) {
		err := s.within(t.Context(), func() error { return s.exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)) })
		expect.NoError(t, err)
	}
	limit(1) // allow no new pages
	full := storetest.Record(1)
	full.Body = []byte(`"` + strings.Repeat("x", 100_000) + `"`)
	l.Append(full)
	for range 3 {
		if err := l.Commit(t.Context(), 1); !errors.Is(err, store.ErrFull) {
			t.Errorf("got %v, want %v", err, store.ErrFull)
		}
	}
	limit(1 << 30)
	if err := l.Commit(t.Context(), 1); err != nil {
		t.Errorf("with room again: %v", err)
	}
	storetest.Close(t, s)
	for _, want := range []string{"cannot be written", "the disk is full", "are written again"} {
		if n := strings.Count(text.String(), want); n != 1 {
			t.Errorf("the log has %q %d times, want once: %s", want, n, text)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

// Folders of each released format, which testdata has, can be read by this version.
func TestEveryFormOpens(t *testing.T) {
	t.Parallel()
	if os.Getenv("UPDATE") != "" {
		writeForm(t, fmt.Sprintf("testdata/form-%d", formVersion))
	}
	forms, err := filepath.Glob("testdata/form-*")
	if err != nil || len(forms) < formVersion-1 { // form 1 was never released
		t.Fatalf("folders %v, %v", forms, err)
	}
	for _, from := range forms {
		t.Run(filepath.Base(from), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyFolder(t, from, dir)
			s := opened(t, Config{Dir: dir})
			defer storetest.Close(t, s)
			l := storetest.Opened(t, s, "shop")
			if got := storetest.Numbers(t, l); !slices.Equal(got, storetest.Span(11, 20)) {
				t.Errorf("records %v, want 11 to 20", got)
			}
			expect.Equal(t, "about", string(l.About()), "about")
			from, err := l.Snapshot(t.Context())
			expect.NoError(t, err)
			if text, err := io.ReadAll(from); err != nil || string(text) != "snapshot" {
				t.Errorf("snapshot %q, %v", text, err)
			}
		})
	}
}

// writeForm writes a folder in the format of this version.
func writeForm(t *testing.T, dir string) {
	t.Helper()
	expect.NoError(t, os.RemoveAll(dir))
	s := opened(t, Config{Dir: dir})
	l := storetest.Opened(t, s, "shop")
	storetest.Fill(t, l, 1, 20)
	err := l.Save(t.Context(), func(w io.Writer) (uint64, error) { _, err := io.WriteString(w, "snapshot"); return 10, err })
	expect.NoError(t, errors.Join(err, l.SetAbout(t.Context(), []byte("about")), s.Close(), os.Remove(filepath.Join(dir, lockFile))))
}

// A folder of an unknown format is refused with both numbers, and is not changed.
func TestOtherFormsAreRefused(t *testing.T) {
	t.Parallel()
	for _, form := range []int{1, formVersion + 1} {
		dir := t.TempDir()
		storetest.Close(t, opened(t, Config{Dir: dir}))
		db, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
		expect.NoError(t, err)
		_, err = db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA user_version = %d", form))
		expect.NoError(t, errors.Join(err, db.Close()))
		before := contents(t, dir)
		_, err = Open(t.Context(), Config{Dir: dir})
		if want := fmt.Sprintf("form %d: ", form); !errors.Is(err, store.ErrVersion) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("reads form %d", formVersion)) {
			t.Errorf("form %d: %v", form, err)
		}
		if !maps.Equal(before, contents(t, dir)) {
			t.Errorf("form %d: the folder was changed", form)
		}
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"a text", "nothing that SQLite knows, but long enough for a header of a hundred bytes: 0123456789 0123456789 0123456789", store.ErrDamaged},
		{"a short text", "x", store.ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			name := filepath.Join(dir, databaseFile)
			expect.NoError(t, os.WriteFile(name, []byte(c.text), 0o600))
			if s, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, c.want) {
				if err == nil {
					_ = s.Close()
				}
				t.Errorf("got %v, want %v", err, c.want)
			}
			if text, _ := os.ReadFile(name); string(text) != c.text {
				t.Errorf("the file was changed: %q", text)
			}
		})
	}
}

// BenchmarkCommit reports durable records per second.
func BenchmarkCommit(b *testing.B) {
	for _, committers := range []int{1, 16, 256} {
		for _, accounts := range []int{1, 256} {
			b.Run(fmt.Sprintf("%d committers of %d accounts", committers, accounts), func(b *testing.B) { benchCommit(b, committers, accounts) })
		}
	}
}
