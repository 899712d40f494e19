package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
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
	sum  hash.Hash
	err  error
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
	l := r.log
	var part []byte
	found, err := l.store.first(r.ctx, []any{&part}, "SELECT body FROM snapshot WHERE account = ? AND generation = ? AND part = ?", l.id, r.last.generation, r.part)
	r.part++
	switch {
	case err != nil:
		r.err = err
	case found:
		r.rest = part
		_, _ = r.sum.Write(part) // never fails
		r.size += int64(len(part))
	case r.size != r.last.size || !bytes.Equal(r.sum.Sum(nil), r.last.sum[:]):
		r.err = l.store.damaged(fmt.Sprintf("account %q: its snapshot", l.id))
	default:
		r.err = io.EOF
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
		var chain []byte
		if _, err := l.store.first(ctx, []any{&chain}, "SELECT chain FROM journal WHERE place > ? AND place <= ? ORDER BY place DESC LIMIT 1", l.place(was.lsn), l.place(next.lsn)); err != nil {
			return err
		}
		copy(next.chain[:], chain)
	}
	err := l.store.update(ctx, func(do exec) error {
		l.saved = next
		return l.put(do)
	}, func() { l.saved = was })
	if err != nil {
		return err
	}
	var size int64
	if _, err = l.store.first(ctx, []any{&size}, "SELECT coalesce(sum(length(records)), 0) FROM journal WHERE place > ? AND place < ?", l.place(next.lsn), (l.number+1)<<placeBits); err != nil {
		return err
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.behind = store.Behind{Records: l.behind.Records - int64(next.lsn-was.lsn), Bytes: size, Snapshot: next.size}
	l.store.stats.Snapshots++
	return nil
}

// purgeSize is the range of record numbers that one transaction deletes.
const purgeSize = 10_000

// purge deletes the records and old snapshots that the snapshot replaces, in several
// transactions.
func (l *Log) purge(ctx context.Context, w *snapshotWriter, lsn uint64) error {
	for {
		var first int64
		more, err := l.store.first(ctx, []any{&first}, "SELECT place FROM journal WHERE place > ? AND place <= ? ORDER BY place LIMIT 1", l.place(0), l.place(lsn))
		if more {
			err = l.store.update(ctx, func(do exec) error {
				return do("DELETE FROM journal WHERE place >= ? AND place <= ?", first, min(first+purgeSize, l.place(lsn)))
			})
		}
		if err != nil {
			return err
		}
		if !more {
			return w.clear(1, w.generation-1)
		}
	}
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
	for {
		var generation, part int64
		more, err := l.store.first(w.ctx, []any{&generation, &part}, "SELECT generation, part FROM snapshot WHERE account = ? AND generation BETWEEN ? AND ? ORDER BY generation, part LIMIT 1", l.id, from, to)
		if more {
			err = l.store.update(w.ctx, func(do exec) error {
				return do("DELETE FROM snapshot WHERE account = ? AND generation = ? AND part BETWEEN ? AND ?", l.id, generation, part, part+purgeParts)
			})
		}
		if err != nil || !more {
			return err
		}
	}
}

// purgeParts is the number of parts that one transaction deletes, minus one.
const purgeParts = 31
