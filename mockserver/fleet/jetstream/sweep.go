package jetstream

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
)

const (
	sweepFirst = time.Minute // after the start
	sweepEvery = time.Hour
	// sweepAge is the minimum age of an orphan: another server may still be writing a
	// younger object, or be about to name it.
	sweepAge = time.Hour
)

// sweepAlways deletes orphans at intervals until the store is closed.
func (s *Store) sweepAlways() {
	for wait := sweepFirst; clock.Pause(s.ctx, wait) == nil; wait = sweepEvery {
		if err := s.sweep(s.ctx, wall.Now().Add(-sweepAge)); err != nil && s.ctx.Err() == nil {
			s.cfg.Log.Debug("snapshots that nobody needs are deleted later", "error", err)
		}
	}
}

// sweep deletes snapshots that no entry names, and parts that belong to no object, if they were
// written before the given time. A server that dies while it saves a snapshot leaves them.
func (s *Store) sweep(ctx context.Context, before time.Time) error {
	objects, err := s.snapshots.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		objects, err = nil, nil
	}
	if err != nil {
		return err
	}
	whole := map[string]bool{}
	for _, o := range objects {
		whole[o.NUID] = true
		if o.ModTime.After(before) {
			continue
		}
		named, err := s.names(ctx, o.Name)
		if err == nil && !named {
			err = s.snapshots.Delete(ctx, o.Name)
		}
		if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
	}
	return s.sweepParts(ctx, whole, before)
}

// names reports whether the entry of an account names a snapshot.
func (s *Store) names(ctx context.Context, object string) (bool, error) {
	key, _, _ := strings.Cut(object, ".")
	account, ok := AccountOf(key)
	if !ok {
		return true, nil // of another program
	}
	e, _, err := (&Log{store: s, id: account}).readEntry(ctx)
	return e.Snapshot == object, err
}

// partsSubject is the prefix of the subjects of parts; the client library has it, but does
// not export it.
func (s *Store) partsSubject() string { return "$O." + s.cfg.Prefix + "-snapshots.C." }

// sweepParts deletes old parts without an object.
func (s *Store) sweepParts(ctx context.Context, whole map[string]bool, before time.Time) error {
	stream, err := s.js.Stream(ctx, "OBJ_"+s.bucketOfSnapshots())
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(s.partsSubject()+">"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if whole[strings.TrimPrefix(subject, s.partsSubject())] {
			continue
		}
		last, err := stream.GetLastMsgForSubject(ctx, subject)
		if err == nil && last.Time.Before(before) {
			err = stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return err
		}
	}
	return nil
}
