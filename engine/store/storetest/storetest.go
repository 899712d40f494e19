// Package storetest has the contract that every implementation of package store must pass.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
)

// Test runs the contract. Each call of the function returned by open opens the same store
// again, after the previous one was closed.
func Test(t *testing.T, open func(t *testing.T) func() store.Store) { //nolint:tparallel // its callers call t.Parallel
	for _, c := range []struct {
		name string
		test func(*testing.T, func() store.Store)
	}{
		{"a new account has nothing", nothingKept},
		{"records come back as they were", recordsComeBack},
		{"accounts are independent of each other", accountsApart},
		{"accounts can be created at the same time", openedAtOnce},
		{"the about data come back", aboutComesBack},
		{"a snapshot replaces the records that it includes", snapshotReplaces},
		{"a snapshot that fails changes nothing", snapshotFails},
		{"a commit returns when the record is durable", commitsOfMany},
		{"a record becomes durable without a commit", durableAlone},
		{"an account is opened once", openedOnce},
		{"a journal is read again while records are appended", readAtWork},
		{"a commit ends with its context", commitEnds},
		{"an account that was closed can be opened again", openedAgain},
		{"the counts match what was done", counted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

// Opened opens an account.
func Opened(t *testing.T, st store.Store, account string) store.Log {
	t.Helper()
	l, err := st.Open(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Record returns a record whose content is determined by its number.
func Record(lsn uint64) journal.Record {
	return journal.Record{LSN: lsn, At: time.UnixMilli(1_800_000_000_000 + int64(lsn)), Kind: "publish", Body: fmt.Appendf(nil, `{"n":%d}`, lsn)}
}

// Fill appends records and waits until they are durable.
func Fill(t *testing.T, l store.Log, from, to uint64) {
	t.Helper()
	for lsn := from; lsn <= to; lsn++ {
		l.Append(Record(lsn))
	}
	if err := l.Commit(t.Context(), to); err != nil {
		t.Fatal(err)
	}
}

// Numbers returns the numbers of the records of a log, and checks their contents.
func Numbers(t *testing.T, l store.Log) []uint64 {
	t.Helper()
	var list []uint64
	for r, err := range l.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := Record(r.LSN); r.Kind != want.Kind || !r.At.Equal(want.At) || !bytes.Equal(r.Body, want.Body) {
			t.Errorf("record %d came back as %+v", r.LSN, r)
		}
		list = append(list, r.LSN)
	}
	return list
}

// Close closes a store.
func Close(t *testing.T, st store.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// Span returns the numbers in [from, to].
func Span(from, to uint64) (list []uint64) {
	for ; from <= to; from++ {
		list = append(list, from)
	}
	return list
}

func nothingKept(t *testing.T, open func() store.Store) {
	st := open()
	defer Close(t, st)
	l := Opened(t, st, "shop")
	if got := Numbers(t, l); got != nil {
		t.Errorf("records %v", got)
	}
	snapshot, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if snapshot != nil {
		t.Error("has a snapshot")
	}
	if about := l.About(); about != nil {
		t.Errorf("about %q", about)
	}
}

func recordsComeBack(t *testing.T, open func() store.Store) {
	st := open()
	Fill(t, Opened(t, st, "shop"), 1, 2500)
	Close(t, st)
	st = open()
	l := Opened(t, st, "shop")
	if got := Numbers(t, l); !slices.Equal(got, Span(1, 2500)) {
		t.Errorf("%d records came back, want 2500", len(got))
	}
	Fill(t, l, 2501, 2600)
	Close(t, st)
	st = open()
	defer Close(t, st)
	if got := Numbers(t, Opened(t, st, "shop")); !slices.Equal(got, Span(1, 2600)) {
		t.Errorf("%d records came back, want 2600", len(got))
	}
}

func accountsApart(t *testing.T, open func() store.Store) {
	st := open()
	ids := []string{"", "a", "b'; DROP TABLE journal; --", "ü/%2e/*"}
	for i, id := range ids {
		Fill(t, Opened(t, st, id), 1, uint64(i)+1)
	}
	Close(t, st)
	st = open()
	defer Close(t, st)
	kept, err := st.Accounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(kept, ids) {
		t.Errorf("accounts %q, want %q", kept, ids)
	}
	for i, id := range ids {
		if got := Numbers(t, Opened(t, st, id)); len(got) != i+1 {
			t.Errorf("account %q has %d records, want %d", id, len(got), i+1)
		}
	}
}

// openedAtOnce opens new accounts concurrently.
func openedAtOnce(t *testing.T, open func() store.Store) {
	st := open()
	const accounts = 20
	var all sync.WaitGroup
	for i := range accounts {
		all.Go(func() {
			l, err := st.Open(t.Context(), fmt.Sprintf("account%02d", i))
			if err != nil {
				t.Error(err)
				return
			}
			for lsn := uint64(1); lsn <= uint64(i+1); lsn++ {
				l.Append(Record(lsn))
				if err := l.Commit(t.Context(), lsn); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	Close(t, st)
	again := open()
	defer Close(t, again)
	for i := range accounts {
		l := Opened(t, again, fmt.Sprintf("account%02d", i))
		if got, want := Numbers(t, l), Span(1, uint64(i+1)); !slices.Equal(got, want) {
			t.Errorf("account %d: records %v, want %v", i, got, want)
		}
	}
}

func aboutComesBack(t *testing.T, open func() store.Store) {
	st := open()
	l := Opened(t, st, "shop")
	for _, about := range []string{`{"token":"a"}`, `{"token":"b"}`} {
		if err := l.SetAbout(t.Context(), []byte(about)); err != nil {
			t.Fatal(err)
		}
	}
	Close(t, st)
	st = open()
	defer Close(t, st)
	if got := string(Opened(t, st, "shop").About()); got != `{"token":"b"}` {
		t.Errorf("about %q", got)
	}
}

// saved returns the bytes of the snapshot.
func saved(t *testing.T, l store.Log) string {
	t.Helper()
	from, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if from == nil {
		return ""
	}
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func snapshotReplaces(t *testing.T, open func() store.Store) {
	st := open()
	l := Opened(t, st, "shop")
	Fill(t, l, 1, 100)
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // larger than one part
	for i, at := range []uint64{40, 90, 90} {
		err := l.Save(t.Context(), func(w io.Writer) (uint64, error) {
			_, err := w.Write(large[i:])
			return at, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	Fill(t, l, 101, 110)
	Close(t, st)
	st = open()
	defer Close(t, st)
	l = Opened(t, st, "shop")
	if got := Numbers(t, l); !slices.Equal(got, Span(91, 110)) {
		t.Errorf("records %v, want 91 to 110", got)
	}
	if got := saved(t, l); got != string(large[2:]) {
		t.Errorf("%d bytes came back, want %d", len(got), len(large)-2)
	}
}

func readAtWork(t *testing.T, open func() store.Store) {
	st := open()
	l := Opened(t, st, "shop")
	_ = Numbers(t, l)
	for from := uint64(1); from < 200; from += 50 {
		var writer sync.WaitGroup
		writer.Go(func() { Fill(t, l, from, from+49) })
		got := Numbers(t, l)
		if want := Span(1, uint64(len(got))); !slices.Equal(got, want) {
			t.Errorf("records %v, want %v", got, want)
		}
		writer.Wait()
		if got := Numbers(t, l); !slices.Equal(got, Span(1, from+49)) {
			t.Errorf("records %v, want 1 to %d", got, from+49)
		}
	}
	err := l.Save(t.Context(), func(w io.Writer) (uint64, error) {
		_, err := io.WriteString(w, "state")
		return 120, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := Numbers(t, l); !slices.Equal(got, Span(121, 200)) {
		t.Errorf("records %v, want 121 to 200", got)
	}
	Fill(t, l, 201, 210)
	Close(t, st)
	st = open()
	defer Close(t, st)
	if got := Numbers(t, Opened(t, st, "shop")); !slices.Equal(got, Span(121, 210)) {
		t.Errorf("records %v, want 121 to 210", got)
	}
}

func snapshotFails(t *testing.T, open func() store.Store) {
	st := open()
	l := Opened(t, st, "shop")
	Fill(t, l, 1, 10)
	good := func(w io.Writer) (uint64, error) {
		_, err := io.WriteString(w, "good")
		return 5, err
	}
	if err := l.Save(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := l.Save(t.Context(), func(w io.Writer) (uint64, error) {
		_, _ = w.Write(make([]byte, 1<<20))
		return 9, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	Close(t, st)
	st = open()
	defer Close(t, st)
	l = Opened(t, st, "shop")
	if got := Numbers(t, l); !slices.Equal(got, Span(6, 10)) {
		t.Errorf("records %v, want 6 to 10", got)
	}
	if got := saved(t, l); got != "good" {
		t.Errorf("snapshot %q", got)
	}
}

func commitsOfMany(t *testing.T, open func() store.Store) {
	st := open()
	const accounts, each = 20, 200
	var all sync.WaitGroup
	for i := range accounts {
		l := Opened(t, st, fmt.Sprintf("account%02d", i))
		all.Go(func() {
			for lsn := range uint64(each) {
				l.Append(Record(lsn + 1))
				if err := l.Commit(t.Context(), lsn+1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	Close(t, st)
	st = open()
	defer Close(t, st)
	for i := range accounts {
		if got := Numbers(t, Opened(t, st, fmt.Sprintf("account%02d", i))); !slices.Equal(got, Span(1, each)) {
			t.Errorf("account %d: %d records, want %d", i, len(got), each)
		}
	}
}

func durableAlone(t *testing.T, open func() store.Store) {
	st := open()
	defer Close(t, st)
	Opened(t, st, "shop").Append(Record(1))
	for st.Stats().Records == 0 {
		if err := clock.Pause(t.Context(), time.Millisecond); err != nil {
			t.Fatal("the record is not durable")
		}
	}
}

func openedOnce(t *testing.T, open func() store.Store) {
	st := open()
	defer Close(t, st)
	Opened(t, st, "shop")
	if _, err := st.Open(t.Context(), "shop"); err == nil {
		t.Error("opened twice")
	}
}

func openedAgain(t *testing.T, open func() store.Store) {
	st := open()
	defer Close(t, st)
	l := Opened(t, st, "shop")
	for lsn := uint64(1); lsn <= 5; lsn++ {
		l.Append(Record(lsn))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := Numbers(t, Opened(t, st, "shop")); !slices.Equal(got, Span(1, 5)) {
		t.Errorf("records %v, want 1 to 5", got)
	}
}

func commitEnds(t *testing.T, open func() store.Store) {
	st := open()
	defer Close(t, st)
	l := Opened(t, st, "shop")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Commit(ctx, 1); !errors.Is(err, context.Canceled) { // there is no record 1
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func counted(t *testing.T, open func() store.Store) {
	st := open()
	defer Close(t, st)
	l := Opened(t, st, "shop")
	Fill(t, l, 1, 10)
	got := st.Stats()
	if got.Records != 10 {
		t.Errorf("%d records, want 10", got.Records)
	}
	if got.Behind["shop"].Records != 10 {
		t.Errorf("%d records since the snapshot, want 10", got.Behind["shop"].Records)
	}
	if err := l.Save(t.Context(), func(io.Writer) (uint64, error) { return 8, nil }); err != nil {
		t.Fatal(err)
	}
	got = st.Stats()
	if got.Behind["shop"].Records != 2 {
		t.Errorf("%d records since the snapshot, want 2", got.Behind["shop"].Records)
	}
	if got.Snapshots != 1 {
		t.Errorf("%d snapshots, want 1", got.Snapshots)
	}
}
