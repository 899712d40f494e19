package jetstream

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/storetest"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/natstest"
)

func TestStoreContract(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t *testing.T) func() store.Store {
		address := natstest.Run(t)
		return func() store.Store { return opened(t, address, "a") }
	})
}

func opened(t testing.TB, address, name string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Servers: address, Name: name, MaxBytes: 1 << 28})
	expect.NoError(t, err)
	return s
}

// An owner that was replaced can append nothing more, and is notified.
func TestOwnerIsFenced(t *testing.T) {
	t.Parallel()
	address := natstest.Run(t)
	a, b := opened(t, address, "a"), opened(t, address, "b")
	defer a.Close()
	defer storetest.Close(t, b)
	old := storetest.Opened(t, a, "shop")
	storetest.Fill(t, old, 1, 10)
	owner := storetest.Opened(t, b, "shop")
	if got := storetest.Numbers(t, owner); len(got) != 10 {
		t.Errorf("the new owner has %d records, want 10", len(got))
	}
	old.Append(storetest.Record(11))
	if err := old.Commit(t.Context(), 11); !errors.Is(err, ErrFenced) {
		t.Errorf("the old owner got %v, want %v", err, ErrFenced)
	}
	select {
	case <-old.Lost():
	default:
		t.Error("the old owner was not notified that it has lost the account")
	}
	storetest.Fill(t, owner, 11, 12)
}

// A record larger than a message comes back complete.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	address := natstest.Run(t)
	s := opened(t, address, "a")
	l := storetest.Opened(t, s, "shop")
	storetest.Fill(t, l, 1, 3)
	large := storetest.Record(4)
	large.Body = append(append([]byte(`"`), bytes.Repeat([]byte("x"), 5<<20)...), '"')
	l.Append(large)
	expect.NoError(t, l.Commit(t.Context(), 4))
	storetest.Fill(t, l, 5, 6)
	storetest.Close(t, s)
	s = opened(t, address, "a")
	defer storetest.Close(t, s)
	var sizes []int
	for r, err := range storetest.Opened(t, s, "shop").Records(t.Context()) {
		expect.NoError(t, err)
		sizes = append(sizes, len(r.Body))
	}
	want := []int{7, 7, 7, len(large.Body), 7, 7}
	if !slices.Equal(sizes, want) {
		t.Errorf("bodies of %v bytes, want %v", sizes, want)
	}
}

// Reading a large snapshot may take longer than the timeout of one request.
func TestASnapshotIsReadSlowly(t *testing.T) {
	t.Parallel()
	s := opened(t, natstest.Run(t), "a")
	defer storetest.Close(t, s)
	l := storetest.Opened(t, s, "shop")
	storetest.Fill(t, l, 1, 1)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	expect.NoError(t, l.Save(t.Context(), func(w io.Writer) (uint64, error) { _, err := w.Write(want); return 1, err }))
	in, err := l.Snapshot(t.Context())
	expect.NoError(t, err)
	first := make([]byte, 1)
	expect.NoError(t, expect.ErrorOf(io.ReadFull(in, first)))
	expect.NoError(t, clock.Pause(t.Context(), askTimeout+askTimeout/4))
	rest, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(slices.Concat(first, rest), want) {
		t.Errorf("%d bytes of %d, %v", 1+len(rest), len(want), err)
	}
}

// The remains of a server that died while saving a snapshot are deleted when they are old,
// and nothing else.
func TestOrphansAreSwept(t *testing.T) {
	t.Parallel()
	s := opened(t, natstest.Run(t), "a")
	defer storetest.Close(t, s)
	l := storetest.Opened(t, s, "shop")
	storetest.Fill(t, l, 1, 1)
	expect.NoError(t, l.Save(t.Context(), func(w io.Writer) (uint64, error) { _, err := io.WriteString(w, "snapshot"); return 1, err }))
	expect.NoError(t, expect.ErrorOf(s.snapshots.PutString(t.Context(), Key("shop")+".1.1", "that no entry names")))
	for range 3 {
		expect.NoError(t, expect.ErrorOf(s.js.Publish(t.Context(), s.partsSubject()+"cut", []byte("part of an object that was not finished"))))
	}
	const all, own = 3, 1 // objects and orphans; objects with an entry
	for _, c := range []struct {
		name   string
		before time.Time
		want   int
	}{{"new orphans stay", wall.Now().Add(-time.Hour), all}, {"old orphans are deleted", wall.Now().Add(time.Hour), own}} {
		expect.NoError(t, s.sweep(t.Context(), c.before))
		stream, err := s.js.Stream(t.Context(), "OBJ_understudy-snapshots")
		expect.NoError(t, err)
		info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(s.partsSubject()+">"))
		expect.NoError(t, err)
		if got := len(info.State.Subjects); got != c.want {
			t.Errorf("%s: parts of %d objects, want %d: %v", c.name, got, c.want, info.State.Subjects)
		}
	}
	in, err := l.Snapshot(t.Context())
	expect.NoError(t, err)
	if text, err := io.ReadAll(in); err != nil || string(text) != "snapshot" {
		t.Errorf("snapshot %q, %v", text, err)
	}
}

var _ journal.Journal = (*Log)(nil)

// Stats and the writer must not deadlock on their two locks.
func TestStatsWhileRecordsAreWritten(t *testing.T) {
	t.Parallel()
	s := opened(t, natstest.Run(t), "a")
	l := storetest.Opened(t, s, "shop")
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := range uint64(300) {
			storetest.Fill(t, l, n+1, n+1)
		}
	}()
	for reading := true; reading; {
		select {
		case <-written:
			reading = false
		default:
			s.Stats()
		}
	}
	expect.Equal(t, "number of records counted", s.Stats().Records, 300)
	storetest.Close(t, s)
}

// Data that decide about an account must be read from the leader of its stream, because any
// other server may be behind.
func TestReadsAskTheLeader(t *testing.T) {
	t.Parallel()
	s := opened(t, natstest.Run(t), "a")
	defer storetest.Close(t, s)
	l := storetest.Opened(t, s, "shop")
	storetest.Fill(t, l, 1, 3)
	expect.NoError(t, l.Save(t.Context(), func(to io.Writer) (uint64, error) {
		_, err := io.WriteString(to, "state")
		return 3, err
	}))
	direct, err := s.conn.SubscribeSync("$JS.API.DIRECT.>")
	expect.NoError(t, err)
	expect.NoError(t, l.Close())
	in, err := storetest.Opened(t, s, "shop").Snapshot(t.Context())
	if err == nil {
		_, err = io.ReadAll(in)
	}
	expect.NoError(t, err)
	expect.NoError(t, s.conn.Flush())
	for {
		asked, err := direct.NextMsg(time.Millisecond)
		if err != nil {
			return
		}
		t.Errorf("read from any server, not from the leader: %s", asked.Subject)
	}
}
