package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/storetest"
)

// snapshotText is the snapshot of record 200 in the test folders.
var snapshotText = bytes.Repeat([]byte("0123456789abcdef"), 1<<13)

// filled returns two folders of one account with records up to 400: after a clean stop, and
// as kill -9 leaves it.
func filled(t *testing.T) (whole, crashed string) {
	t.Helper()
	whole, crashed = t.TempDir(), t.TempDir()
	s := opened(t, Config{Dir: whole})
	l := storetest.Opened(t, s, "shop")
	storetest.Fill(t, l, 1, 300)
	expect.NoError(t, l.Save(t.Context(), func(w io.Writer) (uint64, error) { _, err := w.Write(snapshotText); return 200, err }))
	expect.NoError(t, l.SetAbout(t.Context(), []byte("about")))
	for lsn := uint64(301); lsn <= 400; lsn += 5 { // many frames in the write-ahead log
		storetest.Fill(t, l, lsn, lsn+4)
	}
	copyFolder(t, whole, crashed)
	storetest.Close(t, s)
	return whole, crashed
}

// Damage anywhere is either reported as an error or harmless: all records are there. A
// refused folder is not changed.
func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for damage, not for races")
	whole, crashed := filled(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		dir := t.TempDir()
		copyFolder(t, []string{whole, crashed}[i%2], dir)
		what := damage(t, random, dir, i/2%2 == 0)
		before := contents(t, dir)
		s, err := Open(t.Context(), Config{Dir: dir})
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s: %v", what, err)
			}
			if after := contents(t, dir); !maps.Equal(before, after) {
				t.Errorf("%s: a refused folder was changed", what)
			}
			continue
		}
		if err := intact(t, s); err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
		storetest.Close(t, s)
	}
}

// With AcceptLoss every folder opens. It has the unchanged records up to the damage,
// reports what is missing, and keeps the damaged files.
func TestDamageIsLeftOut(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for damage, not for races")
	whole, crashed := filled(t)
	random := rand.New(rand.NewPCG(3, 4))
	lost := 0
	for i := range 100 {
		dir := t.TempDir()
		copyFolder(t, []string{whole, crashed}[i%2], dir)
		what := damage(t, random, dir, i/2%2 == 0)
		before := contents(t, dir)
		var said []string
		s, err := Open(t.Context(), Config{Dir: dir, AcceptLoss: true, Warn: func(text string) { said = append(said, text) }})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		last := prefix(t, s, what)
		if last < 400 {
			lost++
			if !strings.Contains(strings.Join(said, "\n"), "left out") {
				t.Errorf("%s: the records after %d are missing, but the warnings are %q", what, last, said)
			}
			kept := slices.Collect(maps.Values(contents(t, dir)))
			for name, text := range before {
				if name != "lock" && !strings.HasSuffix(name, "-shm") && !slices.Contains(kept, text) {
					t.Errorf("%s: %s was not kept", what, name)
				}
			}
		}
		storetest.Close(t, s)
		again := opened(t, Config{Dir: dir})
		if now := prefix(t, again, what); now != last+1 {
			t.Errorf("%s: opened again, it ends with record %d, want %d", what, now, last+1)
		}
		storetest.Close(t, again)
	}
	t.Logf("something was left out in %d of 100 folders", lost)
}

// prefix reads the records of a folder, which may end early, and adds one. It returns the
// last record before that; 0 if the snapshot was lost as well.
func prefix(t *testing.T, s *Store, what string) uint64 {
	t.Helper()
	l := storetest.Opened(t, s, "shop")
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	last := uint64(0)
	if from, err := l.Snapshot(t.Context()); err != nil {
		t.Errorf("%s: %v", what, err)
	} else if from != nil {
		last = 200
		if text, err := io.ReadAll(from); err != nil || !bytes.Equal(text, snapshotText) {
			t.Errorf("%s: another snapshot, %v", what, err)
		}
	}
	if numbers := storetest.Numbers(t, l); len(numbers) > 0 {
		if !slices.Equal(numbers, storetest.Span(last+1, numbers[len(numbers)-1])) {
			t.Errorf("%s: records %v after %d", what, numbers, last)
		}
		last = numbers[len(numbers)-1]
	}
	storetest.Fill(t, l, last+1, last+1)
	return last
}

// An interrupted salvage is completed at the next start.
func TestSalvageIsFinished(t *testing.T) {
	t.Parallel()
	_, crashed := filled(t)
	for step := range 4 {
		dir := t.TempDir()
		copyFolder(t, crashed, dir)
		info, err := os.Stat(filepath.Join(dir, databaseFile+"-wal"))
		expect.NoError(t, err)
		truncate(t, filepath.Join(dir, databaseFile+"-wal"), info.Size()-20_000)
		s := newStore(Config{Dir: dir, Warn: func(string) {}})
		expect.NoError(t, s.copyAside(t.Context()))
		for _, name := range []string{databaseFile, databaseFile + "-wal", markFile}[:step] {
			expect.NoError(t, os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".aside")))
		}
		after := opened(t, Config{Dir: dir})
		if last := prefix(t, after, fmt.Sprint("after step ", step)); last < 200 || last >= 400 {
			t.Errorf("after step %d it ends with record %d", step, last)
		}
		storetest.Close(t, after)
	}
}

func truncate(t *testing.T, name string, size int64) {
	t.Helper()
	expect.NoError(t, os.Truncate(name, size))
}

// contents returns the contents of the files of a folder by name, without the lock and
// empty files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	expect.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		expect.NoError(t, err)
		if e.Name() != lockFile && len(text) > 0 {
			files[e.Name()] = string(text)
		}
	}
	return files
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	expect.NoError(t, os.CopyFS(to, os.DirFS(from)))
}

// damage changes one bit of a random file of a folder, or cuts the file.
func damage(t *testing.T, random *rand.Rand, dir string, flip bool) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.NoError(t, err)
	name := entries[random.IntN(len(entries))].Name()
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	if len(text) == 0 {
		return name + " is empty"
	}
	at := random.IntN(len(text))
	what := fmt.Sprintf("%s cut at %d of %d", name, at, len(text))
	if flip {
		what = fmt.Sprintf("%s flipped at %d of %d", name, at, len(text))
		text[at] ^= 1 << random.IntN(8)
	} else {
		text = text[:at]
	}
	expect.NoError(t, os.WriteFile(path, text, 0o600))
	return what
}

// intact reads everything in a folder and returns an error if something is missing or changed.
func intact(t *testing.T, s *Store) error {
	t.Helper()
	accounts, err := s.Accounts(t.Context())
	if err != nil {
		return err
	}
	if !slices.Equal(accounts, []string{"shop"}) {
		return fmt.Errorf("accounts %q", accounts)
	}
	l, err := s.Open(t.Context(), "shop")
	if err != nil {
		return err
	}
	if got := string(l.About()); got != "about" {
		return fmt.Errorf("about %q", got)
	}
	from, err := l.Snapshot(t.Context())
	if err != nil {
		return err
	}
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, snapshotText) {
		return errors.New("another snapshot")
	}
	last := uint64(200)
	for r, err := range l.Records(t.Context()) {
		if err != nil {
			return err
		}
		last = r.LSN
	}
	if last != 400 {
		return fmt.Errorf("ends with record %d", last)
	}
	return nil
}
