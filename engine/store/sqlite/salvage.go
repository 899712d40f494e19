package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/understudy-mock/understudy/engine/store"
)

// The names of the salvaged database, before and after it is complete.
const (
	salvagingFile = "understudy.db.salvaging"
	salvagedFile  = "understudy.db.salvaged"
)

// salvage copies what can be read of a damaged database into a new one, and keeps the
// damaged files under other names. It does not change an intact folder.
func (s *Store) salvage(ctx context.Context, damage error) error {
	if _, err := os.Stat(s.path(databaseFile)); err != nil && damage == nil {
		return nil // a new folder
	}
	left := s.copyReadable(ctx, nil)
	if s.failed != nil || damage == nil && len(left) == 0 {
		return s.failed
	}
	if err := s.copyAside(ctx); err != nil {
		return err
	}
	aside, err := s.putAside()
	if err != nil {
		return err
	}
	if damage != nil { // without the advice, which the user has followed
		what, _, _ := strings.Cut(strings.TrimPrefix(damage.Error(), "data folder "+s.cfg.Dir+": "), ": "+store.ErrDamaged.Error())
		left = append([]string{what}, left...)
	}
	s.cfg.Warn(fmt.Sprintf("data folder %s: damaged: left out: %s; the damaged files are kept as %s", s.cfg.Dir, strings.Join(left, "; "), aside))
	s.made = true
	return nil
}

// copyAside creates the new database of what can be read.
func (s *Store) copyAside(ctx context.Context) error {
	to := newStore(s.cfg)
	_ = os.Remove(s.path(salvagingFile)) // of an interrupted salvage
	_ = os.Remove(s.path(salvagingFile + "-journal"))
	defer to.disconnect()
	err := to.connect(ctx, salvagingFile, "DELETE")
	if err == nil {
		err = to.makeTables(ctx)
	}
	if err == nil {
		s.copyReadable(ctx, to)
		err = errors.Join(s.failed, to.failed)
	}
	to.disconnect()
	if err != nil {
		return err
	}
	if err := os.Rename(s.path(salvagingFile), s.path(salvagedFile)); err != nil {
		return fmt.Errorf("data folder %s: %w", s.cfg.Dir, err)
	}
	return nil
}

// finishSalvage completes an interrupted salvage.
func (s *Store) finishSalvage() error {
	if !exists(s.path(salvagedFile)) {
		return nil
	}
	aside, err := s.putAside()
	if err == nil {
		s.cfg.Warn(fmt.Sprintf("data folder %s: what could be read was taken over; the damaged files are kept as %s", s.cfg.Dir, aside))
	}
	return err
}

// putAside renames the files of the damaged database, and then the salvaged one to take
// their place. It may be interrupted at any time and called again.
func (s *Store) putAside() (string, error) {
	aside := ""
	for n := 1; aside == "" || exists(s.path(aside)); n++ {
		aside = fmt.Sprintf("%s.damaged-%d", databaseFile, n)
	}
	for _, names := range [][2]string{{databaseFile, aside}, {databaseFile + "-wal", aside + "-wal"}, {markFile, aside + "-mark"}, {salvagedFile, databaseFile}} {
		if err := os.Rename(s.path(names[0]), s.path(names[1])); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("data folder %s: %w", s.cfg.Dir, err)
		}
	}
	return aside, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// copyReadable copies what is intact to the given store, nil to only check, and returns
// what is not.
func (s *Store) copyReadable(ctx context.Context, to *Store) (left []string) {
	info, err := os.Stat(s.path(databaseFile))
	if err != nil || info.Size() < minSize {
		return []string{"everything"}
	}
	defer s.disconnect()
	err = s.connect(ctx, databaseFile, "")
	if err == nil {
		err = s.form(ctx)
	}
	if s.isDamage(err) || !s.made {
		return []string{"everything"}
	}
	ids, err := s.Accounts(ctx)
	if s.isDamage(err) {
		left = append(left, "the accounts that cannot be read")
	}
	for _, id := range ids {
		if lost := s.copyAccount(ctx, to, id); lost != "" {
			left = append(left, fmt.Sprintf("account %q: %s", id, lost))
		}
	}
	return left
}

// copyAccount copies an account up to the first damage, and describes what was lost; "" for
// nothing.
func (s *Store) copyAccount(ctx context.Context, to *Store, id string) (lost string) {
	from, into := &Log{store: s, id: id}, &Log{store: to, id: id}
	if s.isDamage(from.read(ctx)) {
		return "all of it"
	}
	into.number, into.about = from.number, from.about
	if s.isDamage(from.readSnapshot(ctx)) { // the records continue from the snapshot
		to.salvaged(func(do exec) error { return into.put(do) })
		return "its snapshot and all records, but not its credentials and stubs"
	}
	into.saved, into.chain = from.saved, from.saved.chain
	to.salvaged(func(do exec) error { return errors.Join(into.put(do), from.copySnapshot(ctx, do)) })
	last, row := from.saved.lsn, &entry{log: into}
	for r, bad := range from.Records(ctx) {
		if s.isDamage(bad) {
			lost = fmt.Sprintf("record %d and all that follow", last+1)
			break
		}
		last = r.LSN
		if !row.takes(r) {
			to.salvagedRecords(row)
			row = &entry{log: into}
		}
		row.add(r)
	}
	to.salvagedRecords(row)
	return lost
}

// salvaged runs a transaction of the new database, if there is one. Only the first error is kept.
func (s *Store) salvaged(do func(exec) error) {
	if s != nil && s.failed == nil {
		s.failed = s.transact(do)
	}
}

func (s *Store) salvagedRecords(row *entry) {
	if s != nil && s.failed == nil && row.records > 0 {
		s.failed = s.insert([]*entry{row})
	}
}

// isDamage reports whether err is not nil. An error other than damage also ends the
// salvage, so that data that a healthy disk still has are not left out.
func (s *Store) isDamage(err error) bool {
	if err != nil && !errors.Is(err, store.ErrDamaged) && s.failed == nil {
		s.failed = err
	}
	return err != nil
}

// readSnapshot reads the whole snapshot to check it.
func (l *Log) readSnapshot(ctx context.Context) error {
	from, err := l.Snapshot(ctx)
	if err == nil && from != nil {
		_, err = io.Copy(io.Discard, from)
	}
	return err
}

// copySnapshot copies the parts of an intact snapshot.
func (l *Log) copySnapshot(ctx context.Context, do exec) error {
	from, err := l.Snapshot(ctx)
	if err != nil || from == nil {
		return err
	}
	part := make([]byte, partSize)
	for n := 0; ; n++ {
		size, err := io.ReadFull(from, part)
		if size > 0 {
			if err := do("INSERT INTO snapshot (account, generation, part, body) VALUES (?, ?, ?, ?)", l.id, l.saved.generation, n, part[:size]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
