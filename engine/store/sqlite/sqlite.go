// Package sqlite keeps journals in a folder, in one SQLite database that any tool for
// SQLite can read. One process at a time uses a folder.
//
// Waiting records of all accounts are written as one transaction, which is synced before any of
// them is acknowledged. A separate file counts the transactions, so that lost ones at the end are
// detected: SQLite itself treats damage at the end of its write-ahead log as the end of the log.
package sqlite

import (
	"context"
	"database/sql"
	_ "embed" // schema.sql
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/store"
)

// DatabaseFile is the name of the database in each data folder.
const DatabaseFile = "understudy.db"

// The files of a folder; SQLite adds those of its write-ahead log.
const (
	databaseFile = DatabaseFile
	markFile     = "mark"
	lockFile     = "lock"
)

// The format of the database.
const (
	applicationID = 0x556e6473 // "Unds"
	formVersion   = 2          // 1 was never released
)

// minSize is the smallest page of a SQLite database, in bytes.
const minSize = 512

//go:embed schema.sql
var schema string

// Config says which folder to open, and how.
type Config struct {
	Dir        string
	Log        *slog.Logger  // nil: no logs
	Warn       func(string)  // shows one line to the user; nil: use Log
	AcceptLoss bool          // leave out unreadable parts of a damaged folder, and keep its files
	Timeout    time.Duration // of a commit; 0: 10 s
}

// defaultTimeout is how long a commit may take before its callers receive ErrUnanswered.
const defaultTimeout = 10 * time.Second

// Store is an open folder.
type Store struct {
	cfg  Config
	lock *flock.Flock
	mark *os.File
	made bool // the database has tables

	failed error // why a database cannot be salvaged

	turn       chan struct{}          // semaphore for one transaction or query at a time; see within
	db         *sql.DB                // has one connection
	conn       *sql.Conn              // the connection
	statements map[string]*sql.Stmt   // prepared statements by text
	commits    int64                  // number of transactions of the database
	failing    time.Time              // since when records cannot be written; zero if they can
	failure    error                  // why; nil if they can
	proven     time.Time              // when something was last written
	files      map[string]os.FileInfo // the files of the folder when they were first seen, by name; nil while it is being opened

	work    sync.WaitGroup // the writer, and the work in progress on the connection
	closing chan struct{}
	written chan struct{} // closed when the writer ends
	wake    chan struct{} // records or a caller wait for the next group

	mu       sync.Mutex
	since    time.Time // when the current turn began; zero for none
	accounts int64     // highest account number
	closed   bool
	queue    []*entry // entries that are not durable, in order
	taken    int      // number of those in the group that is being written
	current  *group   // the group that is being written, nil for none
	next     *group
	expected int           // number of callers for which the next group waits
	took     time.Duration // how long the last group took to write
	stats    store.Stats
	logs     map[string]*Log
	retry    *clock.Real // wakes the writer to repeat a group that failed
	hurry    *clock.Real // wakes the writer although expected callers are missing
	hurried  bool        // hurry is set for the next group
}

// retryAfter is how long the writer waits before it repeats a group that failed. It must
// repeat it even if no caller waits.
const retryAfter = time.Second

// A group waits for the callers of the group before it for at most gatherWrites times as
// long as the disk took for that group, and for at most gatherTime.
const (
	gatherWrites = 4
	gatherTime   = 5 * time.Millisecond
)

// wall is the clock for measuring durations.
var wall = clock.NewReal()

// entry is a row of records, or new about data, in the queue.
type entry struct {
	log     *Log
	isAbout bool
	text    []byte // about data, or the records as a JSON array
	last    uint64 // LSN of the last record
	records int64
	size    int64 // of the bodies of the records
}

// group is a set of entries that become durable together.
type group struct {
	done     chan struct{} // closed when it was written or has failed, or on timeout of the disk
	err      error
	deadline *clock.Real // nil without waiting callers
	callers  int         // number of waiting callers
}

// Open opens a folder, and creates it if it does not exist. Errors about the contents of
// the folder wrap the kinds of package store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := newStore(cfg)
	if err := s.openPatiently(ctx); err != nil {
		return nil, err
	}
	s.work.Go(s.write)
	return s, nil
}

func newStore(cfg Config) *Store {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Warn == nil {
		cfg.Warn = func(text string) { cfg.Log.Warn(text) }
	}
	return &Store{cfg: cfg, turn: make(chan struct{}, 1), closing: make(chan struct{}), written: make(chan struct{}), wake: make(chan struct{}, 1), next: newGroup(), logs: map[string]*Log{}, retry: clock.NewReal(), hurry: clock.NewReal()}
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// joined returns the group for a caller that waits for it. All callers share the deadline
// of the first one.
func (s *Store) joined(g *group) *group {
	if g.deadline == nil {
		g.deadline = clock.NewReal()
		g.deadline.Alarm(s.patience(), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			g.end(s.unanswered())
		})
	}
	g.callers++
	s.gather()
	return g
}

// end releases the callers, once. The caller holds the lock.
func (g *group) end(err error) {
	select {
	case <-g.done:
	default:
		g.err = err
		close(g.done)
	}
}

// wait returns when a group was written or has failed.
func (s *Store) wait(ctx context.Context, g *group) error {
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write is the goroutine that writes the queue, one group after another.
func (s *Store) write() {
	defer close(s.written)
	for {
		select {
		case <-s.wake:
			s.flush()
		case <-s.closing:
			s.flush()
			return
		}
	}
}

// gather wakes the writer when the callers of the group before wait again, or when they have
// had time to: a large group costs little more than a small one, and clients that send one
// request after another soon wait again. The caller holds the lock.
func (s *Store) gather() {
	switch {
	case s.current != nil || len(s.queue) == 0: // flush calls it again
	case s.next.callers >= s.expected:
		s.rouse()
	case !s.hurried:
		s.hurried = true
		s.hurry.Alarm(wall.Now().Add(min(gatherTime, gatherWrites*s.took)), s.rouse)
	}
}

// rouse makes the writer write the queue.
func (s *Store) rouse() {
	select {
	case s.wake <- struct{}{}:
	default: // already woken
	}
}

// flush writes the queue as one group.
func (s *Store) flush() {
	s.mu.Lock()
	batch, done := s.queue, s.next
	s.taken, s.current, s.next = len(batch), done, newGroup()
	for _, e := range batch {
		e.log.open = nil
	}
	s.hurry.Alarm(time.Time{}, nil)
	s.mu.Unlock()
	s.turn <- struct{}{}
	s.begin()
	began := wall.Now()
	err := s.insert(batch)
	s.report(err, len(batch))
	s.end()
	took := wall.Now().Sub(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken, s.current, s.hurried, s.took = 0, nil, false, took
	s.count(batch, took, err)
	if done.deadline != nil {
		done.deadline.Alarm(time.Time{}, nil)
	}
	done.end(err)
	if err != nil {
		s.expected = 0 // a caller that comes again has it repeated at once
		s.retry.Alarm(s.retry.Now().Add(retryAfter), s.rouse)
		return
	}
	s.queue = append([]*entry(nil), s.queue[len(batch):]...)
	s.expected = done.callers + s.next.callers
	s.gather()
}

// report logs when records can no longer be written, and when they can again. The caller
// has the turn.
func (s *Store) report(err error, written int) {
	if err != nil || written > 0 {
		s.failure, s.proven = err, wall.Now()
	}
	switch since := s.failing; {
	case err != nil && since.IsZero():
		s.failing = wall.Now()
		s.cfg.Log.Warn("records cannot be written; they are repeated, and requests that change something are refused", "error", err)
	case err == nil && written > 0 && !since.IsZero():
		s.failing = time.Time{}
		s.cfg.Log.Info("records are written again", "after", wall.Now().Sub(since).Round(time.Millisecond))
	}
}

func (s *Store) count(batch []*entry, took time.Duration, err error) {
	records, size := int64(0), int64(0)
	for _, e := range batch {
		records, size = records+e.records, size+e.size
		if l := e.log; err == nil && !e.isAbout {
			l.durable = e.last
			l.behind.Records += e.records
			l.behind.Bytes += e.size
		}
	}
	s.stats.Count(records, size, took, err)
}

// Stats returns what the store has done so far.
func (s *Store) Stats() store.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Behind = map[string]store.Behind{}
	for id, l := range s.logs {
		out.Behind[id] = l.behind
	}
	return out
}

// Close writes the queue and closes the database. If the disk hangs, the database stays
// open, because a write in progress may still succeed.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return nil
	}
	close(s.closing)
	err := s.lastTurn()
	s.retry.Alarm(time.Time{}, nil)
	s.mu.Lock()
	left := len(s.queue)
	s.mu.Unlock()
	if err == nil {
		s.work.Wait()
		gone := s.present()
		if err = s.letGo(); err != nil {
			err = s.explained("close", err)
		}
		err = errors.Join(gone, err)
	}
	switch lost := fmt.Errorf("data folder %s: %d records could not be written", s.cfg.Dir, left); {
	case left > 0 && err != nil:
		return fmt.Errorf("%w; %w", err, lost)
	case left > 0:
		return lost
	}
	return err
}

// Accounts returns the ids of the accounts in the folder, sorted.
func (s *Store) Accounts(ctx context.Context) ([]string, error) {
	list := []string{}
	err := s.query(ctx, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		list = append(list, id)
		return err
	}, "SELECT id FROM account ORDER BY id")
	if err != nil {
		return nil, err
	}
	return list, nil
}
