package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/store"
)

// entry is the value in the bucket for an account.
type entry struct {
	About    []byte `json:"about,omitempty"`
	Snapshot string `json:"snapshot,omitempty"` // name of its object, "" for none
	LSN      uint64 `json:"lsn"`                // number of the last record in the snapshot
	Size     int64  `json:"size,omitempty"`     // of the snapshot, in bytes
	Durable  uint64 `json:"durable"`            // number of a durable record, so that a lost end of the journal is detected
	Epoch    uint64 `json:"epoch"`              // of the owner that wrote the entry
}

// entryWriter writes the entry of an account. Each write fails unless the bucket has the
// expected revision. A replaced owner therefore cannot write any more, and stale data that
// a read returned are detected.
type entryWriter struct {
	writing  sync.Mutex // one write at a time
	revision uint64     // of the bucket; 0: there is no entry
	kept     entry      // guarded by Log.mu
}

// kept returns the entry as last written.
func (l *Log) kept() entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entry.kept
}

func (l *Log) keep(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entry.kept = e
}

// readEntry reads the entry from the leader of the bucket. The client library reads from any
// server of the cluster, and one that is behind would return the old entry again and again.
func (l *Log) readEntry(ctx context.Context) (e entry, revision uint64, err error) {
	found, err := l.store.entries.GetLastMsgForSubject(ctx, "$KV."+l.store.accounts.Bucket()+"."+Key(l.id))
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && found.Header.Get("KV-Operation") != "" { // deleted
		return e, 0, nil
	}
	if err != nil {
		return e, 0, err
	}
	if err := json.Unmarshal(found.Data, &e); err != nil {
		return e, 0, fmt.Errorf("its entry: %w: %w", store.ErrDamaged, err)
	}
	return e, found.Sequence, nil
}

// takeEntry writes the entry with the epoch of this owner.
func (l *Log) takeEntry(ctx context.Context) error {
	e, revision, err := l.readEntry(ctx)
	if err != nil {
		return err
	}
	l.entry.revision = revision
	l.keep(e)
	return l.changeEntry(ctx, func(*entry) {})
}

// changeEntry changes and writes the entry. It returns ErrFenced if a later owner has written it.
func (l *Log) changeEntry(ctx context.Context, change func(*entry)) error {
	l.entry.writing.Lock()
	defer l.entry.writing.Unlock()
	for {
		next := l.kept()
		change(&next)
		next.Epoch = l.last.epoch
		text, err := json.Marshal(&next)
		if err != nil {
			return err
		}
		revision, err := l.store.accounts.Update(ctx, Key(l.id), text, l.entry.revision)
		if err == nil {
			l.entry.revision = revision
			l.keep(next)
			return nil
		}
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return err
		}
		there, revision, err := l.readEntry(ctx)
		switch {
		case err != nil:
			return err
		case there.Epoch > next.Epoch:
			return ErrFenced
		case revision > l.entry.revision: // written by the previous owner, or by this one if the answer was lost
			l.entry.revision = revision
			l.keep(there)
		default: // a new leader is still behind
			if err := clock.Pause(ctx, retryPause); err != nil {
				return err
			}
		}
	}
}

// markEvery is the interval at which the bucket receives the number of the last durable record.
const markEvery = time.Second

// markAlways marks all logs at intervals until the store is closed.
func (s *Store) markAlways() {
	for clock.Pause(s.ctx, markEvery) == nil {
		s.mu.Lock()
		logs := slices.Collect(maps.Values(s.logs))
		s.mu.Unlock()
		for _, l := range logs {
			l.mark(s.ctx)
		}
	}
}

// mark writes the number of the last durable record to the entry. If it fails, a later mark
// includes it.
func (l *Log) mark(ctx context.Context) {
	l.mu.Lock()
	owned, durable, marked := l.owned, l.durable, l.entry.kept.Durable
	l.mu.Unlock()
	if !owned || durable <= marked {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := l.changeEntry(ctx, func(e *entry) { e.Durable = max(e.Durable, durable) }); err != nil {
		l.store.cfg.Log.Debug("the mark of an account", "account", l.id, "error", err)
	}
}

// About returns the about data of the account.
func (l *Log) About() []byte { return l.kept().About }

// SetAbout replaces the about data.
func (l *Log) SetAbout(ctx context.Context, about []byte) error {
	ctx, cancel := context.WithTimeout(ctx, l.store.cfg.Timeout)
	defer cancel()
	return l.changeEntry(ctx, func(e *entry) { e.About = about })
}
