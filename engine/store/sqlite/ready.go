package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/understudy-mock/understudy/engine/store"
)

const (
	// readyWithin is how long the disk may take to show that it can be written.
	readyWithin = time.Second
	// provenFor is how long a write proves that another one is possible.
	provenFor = 500 * time.Millisecond
	// probeSize is the size of the file that tries the disk, in bytes.
	probeSize = 64 << 10
	probeFile = "probe"
)

// Ready returns why records cannot be written now; nil if they can. It writes to the disk,
// unless something was written a moment ago.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("data folder %s: %w for %s", s.cfg.Dir, store.ErrUnanswered, readyWithin))
	defer cancel()
	return s.within(ctx, func() error {
		if s.failure != nil {
			return s.failure
		}
		if err := s.present(); err != nil || wall.Now().Sub(s.proven) < provenFor {
			return err
		}
		if err := s.probe(); err != nil {
			return err
		}
		s.proven = wall.Now()
		return nil
	})
}

// probe writes and syncs a file. A transaction would not show that the disk is full: it can
// use the space of earlier ones in the write-ahead log.
func (s *Store) probe() error {
	file, err := os.OpenFile(s.path(probeFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = file.Write(make([]byte, probeSize))
		err = errors.Join(err, file.Sync(), file.Close(), os.Remove(s.path(probeFile)))
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return s.full("write")
	case err != nil:
		return fmt.Errorf("data folder %s: cannot write: %w", s.cfg.Dir, cause(err))
	}
	return nil
}

// present returns an error if a file of the folder was deleted or replaced since it was first
// seen. SQLite would continue to write to a deleted file. The caller has the turn.
func (s *Store) present() error {
	for _, name := range []string{lockFile, databaseFile, databaseFile + "-wal", markFile} {
		now, err := os.Stat(s.path(name))
		switch was := s.files[name]; {
		case was == nil && err == nil:
			s.files[name] = now
		case was != nil && (err != nil || !os.SameFile(was, now)):
			return fmt.Errorf("data folder %s: %s: %w while the server runs: put it back, or stop the server and restore a copy of the folder", s.cfg.Dir, name, store.ErrGone)
		}
	}
	return nil
}
