package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine/store"
)

// within runs work on the connection. It returns when the work ends or the disk has not
// answered in time. A system call that hangs cannot be cancelled: the work keeps its turn
// until it ends, and later calls fail when the timeout of this work ends. Work must store
// its results in variables that callers read only after success.
func (s *Store) within(ctx context.Context, work func() error) error {
	ctx, cancel := s.patiently(ctx)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ended := make(chan error, 1)
	s.work.Go(func() {
		s.begin()
		defer s.end()
		ended <- work()
	})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin and end enclose the work of the holder of the turn.
func (s *Store) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = wall.Now()
}

func (s *Store) end() {
	s.mu.Lock()
	s.since = time.Time{}
	s.mu.Unlock()
	<-s.turn
}

// patience returns the deadline of a wait that starts now. If work is in progress, the
// timeout counts from the start of that work. The caller holds the lock.
func (s *Store) patience() time.Time {
	if s.since.IsZero() {
		return wall.Now().Add(s.cfg.Timeout)
	}
	return s.since.Add(s.cfg.Timeout)
}

// patiently adds the deadline of patience to ctx, with its cause.
func (s *Store) patiently(ctx context.Context) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return context.WithDeadlineCause(ctx, s.patience(), s.unanswered())
}

// unanswered is the error for a timeout of the disk.
func (s *Store) unanswered() error {
	return fmt.Errorf("data folder %s: %w for %s", s.cfg.Dir, store.ErrUnanswered, s.cfg.Timeout)
}

// lastTurn waits until the writer has written the rest of the queue, and keeps the turn.
func (s *Store) lastTurn() error {
	ctx, cancel := s.patiently(context.Background())
	defer cancel()
	select {
	case <-s.written:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// openPatiently opens the folder. After the timeout it warns once, because checking a large
// folder takes long and a disk may hang.
func (s *Store) openPatiently(ctx context.Context) error {
	opened := make(chan error, 1)
	s.work.Go(func() {
		err := s.open(ctx)
		if err != nil {
			err = errors.Join(err, s.letGo())
		}
		opened <- err
	})
	late, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	select {
	case err := <-opened:
		return err
	case <-late.Done():
	}
	if ctx.Err() == nil {
		s.cfg.Warn(fmt.Sprintf("data folder %s: being opened for %s: it is large, or the disk does not answer", s.cfg.Dir, s.cfg.Timeout))
	}
	select {
	case err := <-opened:
		return err
	case <-ctx.Done():
		return fmt.Errorf("data folder %s: stopped before it was open: %w", s.cfg.Dir, ctx.Err())
	}
}

// update runs one transaction. It returns when the transaction is durable, or when the disk
// has not answered in time; then the result is unknown.
func (s *Store) update(ctx context.Context, do func(exec) error, undo ...func()) error {
	return s.within(ctx, func() error { return s.transact(do, undo...) })
}

// transact runs one transaction and rolls it back on an error. The caller has the turn.
func (s *Store) transact(do func(exec) error, undo ...func()) error {
	err := s.exec("BEGIN IMMEDIATE")
	if err != nil {
		return s.explained("write", err)
	}
	err = do(s.exec)
	if err == nil {
		err = s.exec("UPDATE mark SET commits = commits + 1")
	}
	if err == nil && s.files != nil {
		err = s.present()
	}
	if err == nil {
		err = s.exec("COMMIT")
	}
	if err != nil {
		_ = s.exec("ROLLBACK") // needed after SQLITE_FULL, which leaves the transaction open; other errors end it
		for _, f := range undo {
			f()
		}
		if errors.Is(err, store.ErrGone) {
			return err
		}
		return s.explained("write", err)
	}
	s.commits++
	if s.mark == nil { // a salvaged database has no mark file yet
		return nil
	}
	if err := s.writeMark(); err != nil {
		s.cfg.Log.Warn("data folder: mark: " + err.Error()) // an old mark does no harm
	}
	return nil
}

// exec runs a statement within a transaction.
type exec func(text string, args ...any) error

// exec runs a statement, which is parsed only once. It has no deadline, because it would be
// unknown whether a cancelled statement is durable; the callers that wait have deadlines.
func (s *Store) exec(text string, args ...any) error {
	ctx := context.Background()
	if s.statements[text] == nil {
		statement, err := s.conn.PrepareContext(ctx, text) //nolint:sqlclosecheck // closeStatements closes it
		if err != nil {
			return err
		}
		s.statements[text] = statement
	}
	_, err := s.statements[text].ExecContext(ctx, args...)
	return err
}

// first reads the first row of the result, if there is one.
func (s *Store) first(ctx context.Context, to []any, text string, args ...any) (found bool, err error) {
	err = s.query(ctx, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(to...)
	}, text, args...)
	return err == nil && found, err
}

// query calls row for each row of the result.
func (s *Store) query(ctx context.Context, row func(*sql.Rows) error, text string, args ...any) error {
	return s.within(ctx, func() error {
		rows, err := s.conn.QueryContext(ctx, text, args...)
		if err == nil {
			defer rows.Close()
			for err == nil && rows.Next() {
				err = row(rows)
			}
			err = errors.Join(err, rows.Err())
		}
		if err != nil {
			return s.explained("read", err)
		}
		return nil
	})
}
