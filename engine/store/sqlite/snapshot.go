package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"github.com/understudy-mock/understudy/engine/store"
)

// Snapshot returns a reader of the last snapshot.
func (l *Log) Snapshot(ctx context.Context) (io.Reader, error) {
	last, err := l.settled(ctx)
	if err != nil || last.generation == 0 {
		return nil, err
	}
	return &snapshotReader{log: l, last: last, ctx: ctx, sum: sha256.New()}, nil
}

// snapshotReader reads the parts of a snapshot.
type snapshotReader struct {
	log  *Log
	last saved
	ctx  context.Context
	part int64
	rest []byte
	size int64
	sum  interface {
		io.Writer
		Sum([]byte) []byte
	}
	err error
}

func (r *snapshotReader) Read(to []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		r.next()
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(to, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *snapshotReader) next() {
	l, found := r.log, false
	var part []byte
	r.err = l.store.query(r.ctx, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&part)
	}, "SELECT body FROM snapshot WHERE account = ? AND generation = ? AND part = ?", l.id, r.last.generation, r.part)
	r.part++
	if r.err != nil {
		return
	}
	r.rest = part
	if found {
		_, _ = r.sum.Write(r.rest) // never fails
		r.size += int64(len(r.rest))
		return
	}
	r.err = io.EOF
	if r.size != r.last.size || !bytes.Equal(r.sum.Sum(nil), r.last.sum[:]) {
		r.err = l.store.damaged(fmt.Sprintf("account %q: its snapshot", l.id))
	}
}

// partSize is the size of the parts of a snapshot, in bytes. Each is a transaction, and
// records wait while it runs.
const partSize = 256 << 10

// Save replaces the snapshot. An account saves one at a time.
func (l *Log) Save(ctx context.Context, write func(io.Writer) (uint64, error)) error {
	last, err := l.settled(ctx)
	if err != nil {
		return err
	}
	w := &snapshotWriter{log: l, ctx: ctx, generation: last.generation + 1}
	if err := w.clear(w.generation, w.generation); err != nil { // of an interrupted snapshot
		return err
	}
	sum := sha256.New()
	lsn, err := write(io.MultiWriter(w, sum))
	if err == nil {
		err = w.flush()
	}
	if err == nil && lsn < last.lsn {
		err = fmt.Errorf("account %q: a snapshot of record %d cannot follow one of record %d", l.id, lsn, last.lsn)
	}
	if errors.Is(err, store.ErrUnanswered) {
		return err // the next Save removes the parts
	}
	if err != nil {
		return errors.Join(err, w.clear(w.generation, w.generation))
	}
	next := saved{generation: w.generation, lsn: lsn, size: w.size}
	copy(next.sum[:], sum.Sum(nil))
	if err := l.Commit(ctx, lsn); err != nil { // a snapshot must not be ahead of its journal
		return err
	}
	if err := l.replace(ctx, last, next); err != nil {
		return err
	}
	return l.purge(ctx, w, lsn)
}

// replace makes a snapshot the last one, in the row of the account.
func (l *Log) replace(ctx context.Context, was, next saved) error {
	next.chain = was.chain
	if next.lsn > was.lsn {
		err := l.store.query(ctx, func(rows *sql.Rows) error {
			var chain []byte
			err := rows.Scan(&chain)
			copy(next.chain[:], chain)
			return err
		}, "SELECT chain FROM journal WHERE place > ? AND place <= ? ORDER BY place DESC LIMIT 1", l.place(was.lsn), l.place(next.lsn))
		if err != nil {
			return err
		}
	}
	err := l.store.update(ctx, func(do exec) error {
		l.saved = next
		return l.put(do)
	}, func() { l.saved = was })
	if err != nil {
		return err
	}
	var size sql.NullInt64
	err = l.store.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&size) }, "SELECT sum(length(records)) FROM journal WHERE place > ? AND place < ?", l.place(next.lsn), (l.number+1)<<placeBits)
	if err != nil {
		return err
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.behind = store.Behind{Records: l.behind.Records - int64(next.lsn-was.lsn), Bytes: size.Int64, Snapshot: next.size}
	l.store.stats.Snapshots++
	return nil
}

// purgeSize is the range of record numbers that one transaction deletes.
const purgeSize = 10_000

// purge deletes the records and old snapshots that the snapshot replaces, in several
// transactions.
func (l *Log) purge(ctx context.Context, w *snapshotWriter, lsn uint64) error {
	for first, more := int64(0), true; more; {
		more = false
		err := l.store.query(ctx, func(rows *sql.Rows) error {
			more = true
			return rows.Scan(&first)
		}, "SELECT place FROM journal WHERE place > ? AND place <= ? ORDER BY place LIMIT 1", l.place(0), l.place(lsn))
		if err != nil {
			return err
		}
		if more {
			err = l.store.update(ctx, func(do exec) error {
				return do("DELETE FROM journal WHERE place >= ? AND place <= ?", first, min(first+purgeSize, l.place(lsn)))
			})
		}
		if err != nil {
			return err
		}
	}
	return w.clear(1, w.generation-1)
}

// snapshotWriter writes the parts of a snapshot.
type snapshotWriter struct {
	log        *Log
	ctx        context.Context
	generation int64
	part       int64
	size       int64
	buffer     []byte
}

func (w *snapshotWriter) Write(text []byte) (int, error) {
	w.buffer = append(w.buffer, text...)
	for len(w.buffer) >= partSize {
		if err := w.put(partSize); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

func (w *snapshotWriter) flush() error {
	if len(w.buffer) == 0 {
		return nil
	}
	return w.put(len(w.buffer))
}

func (w *snapshotWriter) put(n int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	l := w.log
	part := bytes.Clone(w.buffer[:n])
	err := l.store.update(w.ctx, func(do exec) error {
		return do("INSERT INTO snapshot (account, generation, part, body) VALUES (?, ?, ?, ?)", l.id, w.generation, w.part, part)
	})
	if err != nil {
		return err
	}
	w.part++
	w.size += int64(n)
	w.buffer = append(w.buffer[:0], w.buffer[n:]...)
	return nil
}

// clear deletes the parts of the given generations, in several transactions.
func (w *snapshotWriter) clear(from, to int64) error {
	l := w.log
	for more := from <= to; more; {
		var generation, part int64
		more = false
		err := l.store.query(w.ctx, func(rows *sql.Rows) error {
			more = true
			return rows.Scan(&generation, &part)
		}, "SELECT generation, part FROM snapshot WHERE account = ? AND generation BETWEEN ? AND ? ORDER BY generation, part LIMIT 1", l.id, from, to)
		if err != nil {
			return err
		}
		if more {
			err = l.store.update(w.ctx, func(do exec) error {
				return do("DELETE FROM snapshot WHERE account = ? AND generation = ? AND part BETWEEN ? AND ?", l.id, generation, part, part+purgeParts)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// purgeParts is the number of parts that one transaction deletes, minus one.
const purgeParts = 31
