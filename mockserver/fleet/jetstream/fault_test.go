package jetstream

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/storetest"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/natstest"
)

// openError opens an account, reads all its records and returns the error.
func openError(t *testing.T, s *Store, account string) error {
	t.Helper()
	l, err := s.Open(t.Context(), account)
	if err != nil {
		return err
	}
	for _, err := range l.Records(t.Context()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// filled returns a store with ten records of the account shop, each in its own message.
func filled(t *testing.T, address string) *Store {
	t.Helper()
	s := opened(t, address, "a")
	l := storetest.Opened(t, s, "shop")
	for lsn := uint64(1); lsn <= 10; lsn++ {
		storetest.Fill(t, l, lsn, lsn)
	}
	storetest.Close(t, s)
	return opened(t, address, "b")
}

func TestLostMessagesAreNoticed(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*testing.T, *Store) error{
		"the first messages are missing": func(t *testing.T, s *Store) error {
			return s.stream.Purge(t.Context(), jetstream.WithPurgeSequence(5))
		},
		"all messages but the last are missing": func(t *testing.T, s *Store) error {
			return s.stream.Purge(t.Context(), jetstream.WithPurgeKeep(1))
		},
		"all messages are missing": func(t *testing.T, s *Store) error {
			return s.stream.Purge(t.Context())
		},
		"the stream was recreated": func(t *testing.T, s *Store) error {
			cfg := s.stream.CachedInfo().Config
			if err := s.js.DeleteStream(t.Context(), cfg.Name); err != nil {
				return err
			}
			return s.create(t.Context(), cfg.Name)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := filled(t, natstest.Run(t))
			defer storetest.Close(t, s)
			expect.NoError(t, damage(t, s))
			if err := openError(t, s, "shop"); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("opened with error %v, want %v", err, store.ErrDamaged)
			}
			if err := openError(t, s, "other"); err != nil {
				t.Errorf("another account: %v", err)
			}
		})
	}
}

// An owner that was replaced cannot write the about data or a snapshot.
func TestOldOwnerWritesNoEntry(t *testing.T) {
	t.Parallel()
	address := natstest.Run(t)
	a, b := opened(t, address, "same"), opened(t, address, "same")
	defer a.Close()
	defer storetest.Close(t, b)
	old := storetest.Opened(t, a, "shop")
	owner := storetest.Opened(t, b, "shop")
	expect.NoError(t, owner.SetAbout(t.Context(), []byte("new")))
	if err := old.SetAbout(t.Context(), []byte("old")); !errors.Is(err, ErrFenced) {
		t.Errorf("the old owner got %v, want %v", err, ErrFenced)
	}
	if err := owner.SetAbout(t.Context(), []byte("newer")); err != nil {
		t.Errorf("the owner got %v", err)
	}
}

// During an outage of the cluster, records that are not durable are not acknowledged. They
// become durable when the cluster is back.
func TestClusterThatGoesAndComesBack(t *testing.T) {
	t.Parallel()
	o := natstest.Options(t)
	first := natstest.Start(t, o)
	s, err := Open(t.Context(), Config{Servers: first.ClientURL(), MaxBytes: 1 << 28, Timeout: 2 * time.Second})
	expect.NoError(t, err)
	defer storetest.Close(t, s)
	l := storetest.Opened(t, s, "shop")
	storetest.Fill(t, l, 1, 3)
	first.Shutdown()
	first.WaitForShutdown()
	l.Append(storetest.Record(4))
	for range 2 {
		if err := l.Commit(t.Context(), 4); err == nil || !strings.Contains(err.Error(), "the cluster has not") {
			t.Errorf("without a cluster a commit gives %v", err)
		}
	}
	again := natstest.Start(t, o) // on the same port
	defer again.Shutdown()
	for l.Commit(t.Context(), 4) != nil && t.Context().Err() == nil {
	}
	storetest.Fill(t, l, 5, 6)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if got := storetest.Numbers(t, storetest.Opened(t, s, "shop")); !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("records %v", got)
	}
}

// A full stream refuses records, and accepts them when there is room.
func TestFullStream(t *testing.T) {
	t.Parallel()
	address := natstest.Run(t)
	s, err := Open(t.Context(), Config{Servers: address, MaxBytes: minBytes, Timeout: 5 * time.Second})
	expect.NoError(t, err)
	defer storetest.Close(t, s)
	full := s.stream.CachedInfo().Config
	full.MaxBytes = 4 << 10
	expect.NoError(t, expect.ErrorOf(s.js.UpdateStream(t.Context(), full)))
	l := storetest.Opened(t, s, "shop")
	lsn := uint64(0)
	for err = nil; err == nil && lsn < 1000; {
		lsn++
		l.Append(storetest.Record(lsn))
		err = l.Commit(t.Context(), lsn)
	}
	if !errors.Is(err, errRefused) {
		t.Fatalf("a full stream gives %v, want %v", err, errRefused)
	}
	full.MaxBytes = 1 << 20
	expect.NoError(t, expect.ErrorOf(s.js.UpdateStream(t.Context(), full)))
	for range 10 { // the message in progress may have been refused
		if err = l.Commit(t.Context(), lsn); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("with room again: %v", err)
	}
}
