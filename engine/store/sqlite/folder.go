package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/understudy-mock/understudy/engine/store"
)

// open creates the folder if it does not exist, locks it, checks its contents, and opens it
// for writing. It finds damage before anything is written.
func (s *Store) open(ctx context.Context) error {
	if err := s.take(); err != nil {
		return err
	}
	if err := s.finishSalvage(); err != nil {
		return err
	}
	err := s.look(ctx)
	unseen := needsRoom(err)
	if unseen {
		err = nil
	}
	if errors.Is(err, store.ErrDamaged) && s.cfg.AcceptLoss || err == nil && s.cfg.AcceptLoss {
		err = s.salvage(ctx, err)
	}
	if err != nil {
		return err
	}
	if file, err := os.OpenFile(s.path(databaseFile), os.O_RDWR|os.O_CREATE, 0o600); err == nil { // it has credentials; SQLite gives its other files the same permissions
		_ = file.Close()
	}
	if err := s.connect(ctx, databaseFile, "WAL"); err != nil {
		return err
	}
	if unseen {
		if err := s.examine(ctx); err != nil {
			return err
		}
	}
	if err := s.makeTables(ctx); err != nil {
		return err
	}
	if err := s.read(ctx, &s.accounts, "SELECT coalesce(max(number), 0) FROM account"); err != nil {
		return err
	}
	if err := s.openMark(ctx); err != nil {
		return err
	}
	s.files = map[string]os.FileInfo{}
	return s.present()
}

// needsRoom reports whether a database could not be read because the disk is full: reading
// a write-ahead log needs a temporary file, unless the connection may write.
func needsRoom(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP}, e.Code())
}

func (s *Store) path(name string) string { return filepath.Join(s.cfg.Dir, name) }

// take creates the folder and locks it against other processes. The lock of SQLite is not
// enough: its error does not distinguish a file system without locks from another process.
func (s *Store) take() error {
	if info, err := os.Stat(s.cfg.Dir); err == nil && !info.IsDir() {
		return fmt.Errorf("data folder %s: is a file: must be a folder, or missing", s.cfg.Dir)
	}
	if err := os.MkdirAll(s.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("data folder %s: cannot be created: %w", s.cfg.Dir, cause(err))
	}
	s.lock = flock.New(s.path(lockFile), flock.SetPermissions(0o600))
	switch taken, err := s.lock.TryLock(); {
	case errors.Is(err, syscall.ENOLCK) || errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("data folder %s: its file system has no locks, without which two processes could write at once: must be a disk of this machine", s.cfg.Dir)
	case err != nil:
		return fmt.Errorf("data folder %s: cannot be written: %w: must be a folder that this user may write", s.cfg.Dir, cause(err))
	case !taken:
		return s.inUse()
	}
	return nil
}

// cause returns an error without the file name, because the caller names the folder.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

func (s *Store) inUse() error {
	return fmt.Errorf("data folder %s: %w: stop it, or name another folder", s.cfg.Dir, store.ErrInUse)
}

// letGo closes everything that open has opened.
func (s *Store) letGo() error {
	errs := []error{s.closeStatements()}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.mark != nil {
		errs = append(errs, s.mark.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	s.conn, s.db, s.mark, s.lock = nil, nil, nil, nil
	return errors.Join(errs...)
}

// closeStatements closes the prepared statements: an open statement keeps the file open.
func (s *Store) closeStatements() error {
	var errs []error
	for _, statement := range s.statements {
		errs = append(errs, statement.Close())
	}
	s.statements = nil
	return errors.Join(errs...)
}

// connect opens a database of the folder, for writing in a journal mode of SQLite, or
// read-only with journalMode "". The driver runs the pragmas in the order of their names
// and then the other parameters. The locking mode must come first, so that SQLite keeps the
// index of the write-ahead log in memory, not in a shared file.
func (s *Store) connect(ctx context.Context, file, journalMode string) error {
	query := url.Values{"_busy_timeout": {"0"}, "mode": {"ro"}}
	if journalMode != "" {
		query = url.Values{"_busy_timeout": {"0"}, "_pragma": {"locking_mode(EXCLUSIVE)"}, "_journal_mode": {journalMode}, "_synchronous": {"FULL"}, "_txlock": {"immediate"}}
	}
	var err error
	if s.db, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: s.path(file)}).EscapedPath(), RawQuery: query.Encode()}).String()); err != nil {
		return s.explained("open", err)
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return s.explained("open", err)
	}
	s.statements = map[string]*sql.Stmt{}
	return nil
}

// disconnect closes a database that was only read.
func (s *Store) disconnect() {
	_ = s.closeStatements() // nothing was written
	if s.conn != nil {
		_ = s.conn.Close() // nothing was written
	}
	if s.db != nil {
		_ = s.db.Close()
	}
	s.conn, s.db = nil, nil
	_ = os.Remove(s.path(databaseFile + "-shm")) // SQLite created both files to look for a write-ahead log
	if info, err := os.Stat(s.path(databaseFile + "-wal")); err == nil && info.Size() == 0 {
		_ = os.Remove(s.path(databaseFile + "-wal"))
	}
}

// look checks the contents of the folder on a read-only connection: closing a writable one
// would remove the rest of a damaged write-ahead log.
func (s *Store) look(ctx context.Context) error {
	info, err := os.Stat(s.path(databaseFile))
	_, noMark := os.Stat(s.path(markFile))
	switch {
	case err != nil && noMark != nil:
		return nil // a new folder
	case err != nil:
		return s.damaged(databaseFile + ": is missing")
	case info.Size() == 0 && noMark != nil:
		return nil // created by a process that ended immediately
	case info.Size() < minSize: // SQLite would treat it as a new database
		return s.damaged(fmt.Sprintf("%s: has %d bytes", databaseFile, info.Size()))
	}
	defer s.disconnect()
	if err := s.connect(ctx, databaseFile, ""); err != nil {
		return err
	}
	return s.examine(ctx)
}

// examine runs all checks of the database.
func (s *Store) examine(ctx context.Context) error {
	for _, check := range []func(context.Context) error{s.form, s.check, s.strangers, s.compareMark} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// form refuses a database of another program or another format.
func (s *Store) form(ctx context.Context) error {
	var app, version, tables int
	for _, q := range []struct {
		text string
		to   *int
	}{{"PRAGMA application_id", &app}, {"PRAGMA user_version", &version}, {"SELECT count(*) FROM sqlite_schema", &tables}} {
		if err := s.conn.QueryRowContext(ctx, q.text).Scan(q.to); err != nil {
			return s.explained("open", err)
		}
	}
	s.made = tables > 0
	switch {
	case app == 0 && version == 0 && tables == 0:
		return nil // creation was interrupted
	case app != applicationID:
		return fmt.Errorf("data folder %s: %s: %w: must be a database of this program, or missing", s.cfg.Dir, databaseFile, store.ErrVersion)
	case version != formVersion:
		return fmt.Errorf("data folder %s: form %d: %w: this program reads form %d: use the version of the program that wrote it", s.cfg.Dir, version, store.ErrVersion, formVersion)
	}
	return nil
}

// makeTables creates the tables in one transaction.
func (s *Store) makeTables(ctx context.Context) error {
	if s.made {
		return nil
	}
	err := s.exec("BEGIN IMMEDIATE")
	for _, text := range []string{schema, fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", formVersion), "COMMIT"} {
		if err == nil {
			err = s.exec(text)
		}
	}
	if err != nil {
		_ = s.exec("ROLLBACK")
		return s.explained("make its database", err)
	}
	return ctx.Err()
}

// check makes SQLite check the structure of its file.
func (s *Store) check(ctx context.Context) error {
	if !s.made {
		return nil
	}
	var said string
	if err := s.conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return s.explained("check", err)
	}
	if said != "ok" {
		return s.damaged(databaseFile + ": " + strings.ReplaceAll(said, "\n", "; "))
	}
	return nil
}

// strangers looks for records without an account.
func (s *Store) strangers(ctx context.Context) error {
	if !s.made {
		return nil
	}
	for number := int64(0); ; {
		place := sql.NullInt64{}
		if err := s.read(ctx, &place, "SELECT min(place) FROM journal WHERE place >= ?", (number+1)<<placeBits); err != nil {
			return err
		}
		if !place.Valid {
			return nil
		}
		number = place.Int64 >> placeBits
		known := 0
		if err := s.read(ctx, &known, "SELECT count(*) FROM account WHERE number = ?", number); err != nil {
			return err
		}
		if known == 0 {
			return s.damaged(fmt.Sprintf("%s: account %d is missing, its records are not", databaseFile, number))
		}
	}
}

// damaged returns the error for a damaged folder.
func (s *Store) damaged(what string) error {
	return fmt.Errorf("data folder %s: %s: %w: restore a copy of the folder, or start with --data-accept-loss, which leaves out what cannot be read and keeps the damaged files", s.cfg.Dir, what, store.ErrDamaged)
}

// explained turns an error of SQLite into an error about the folder.
func (s *Store) explained(doing string, err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return fmt.Errorf("data folder %s: cannot %s: %w", s.cfg.Dir, doing, err)
	}
	if e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ {
		return s.damaged(databaseFile + ": is too short")
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return s.inUse()
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return s.damaged(databaseFile + ": " + e.Error())
	case sqlite3.SQLITE_FULL:
		return s.full(doing)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("data folder %s: cannot %s: %s cannot be written: must be a file that this user may write, on a disk that is not read-only", s.cfg.Dir, doing, databaseFile)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("data folder %s: cannot %s: the disk reports an error (%w): see the log of the operating system", s.cfg.Dir, doing, err)
	}
	return fmt.Errorf("data folder %s: cannot %s: %w", s.cfg.Dir, doing, err)
}

func (s *Store) full(doing string) error {
	return fmt.Errorf("data folder %s: cannot %s: %w: free some space", s.cfg.Dir, doing, store.ErrFull)
}

// read reads one value of the database.
func (s *Store) read(ctx context.Context, to any, query string, args ...any) error {
	if err := s.conn.QueryRowContext(ctx, query, args...).Scan(to); err != nil {
		return s.explained("read", err)
	}
	return nil
}

// countCommits reads the number of transactions of the database.
func (s *Store) countCommits(ctx context.Context) error {
	return s.read(ctx, &s.commits, "SELECT commits FROM mark")
}

// compareMark compares the number of transactions in the database with the one in the mark file.
func (s *Store) compareMark(ctx context.Context) error {
	if s.made {
		if err := s.countCommits(ctx); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(s.path(markFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("data folder %s: %s cannot be read: %w", s.cfg.Dir, markFile, cause(err))
	}
	switch marked, ok := readMark(text); {
	case ok && marked > s.commits:
		return s.damaged(fmt.Sprintf("%s: the last %d of %d transactions are missing", databaseFile, marked-s.commits, marked))
	case !ok && s.commits > 1:
		s.cfg.Warn(fmt.Sprintf("data folder %s: the file %s is damaged or missing: the database is whole, but whether its last transactions are missing is not known", s.cfg.Dir, markFile))
	}
	return nil
}

// openMark opens the mark file and writes the number of transactions.
func (s *Store) openMark(ctx context.Context) error {
	if err := s.countCommits(ctx); err != nil {
		return err
	}
	file, err := os.OpenFile(s.path(markFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("data folder %s: %s cannot be written: %w", s.cfg.Dir, markFile, cause(err))
	}
	s.mark = file
	if err := s.writeMark(); err != nil {
		return fmt.Errorf("data folder %s: %s cannot be written: %w", s.cfg.Dir, markFile, cause(err))
	}
	return nil
}

// markSize is the size of the count and its checksum, in bytes.
const markSize = 16

var markTable = crc64.MakeTable(crc64.ECMA)

func readMark(text []byte) (int64, bool) {
	if len(text) != markSize || binary.LittleEndian.Uint64(text[8:]) != crc64.Checksum(text[:8], markTable) {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(text)), true
}

// writeMark writes the number of transactions. It does not sync the file, which may
// therefore be older than the database after a power failure, but never newer.
func (s *Store) writeMark() error {
	var text [markSize]byte
	binary.LittleEndian.PutUint64(text[:], uint64(s.commits))
	binary.LittleEndian.PutUint64(text[8:], crc64.Checksum(text[:8], markTable))
	_, err := s.mark.WriteAt(text[:], 0)
	return err
}
