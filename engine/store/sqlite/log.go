package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
)

type record = journal.Record

// Log is one account in a folder.
type Log struct {
	store  *Store
	id     string
	number int64 // of its row, 0 before it is created

	saved saved  // changed only within a transaction
	about []byte // likewise

	opened []byte // about data when the account was opened

	chain store.Chain // of the last durable row; only the writer uses it

	// Guarded by the lock of the store.
	appended uint64 // LSN of the last record in the queue
	open     *entry // the row of the queue that takes more records, nil for none
	durable  uint64
	placed   bool // the end of the journal was read
	behind   store.Behind
}

// saved describes the last snapshot.
type saved struct {
	generation int64
	lsn        uint64
	chain      store.Chain // of the last row whose records it all includes
	size       int64
	sum        [sha256.Size]byte
}

// placeBits is the number of bits of a place that hold the number of the record; the bits
// above are the number of the account.
const placeBits = 40

// place returns the place of the row that ends with a record.
func (l *Log) place(lsn uint64) int64 { return l.number<<placeBits + int64(lsn) }

// Open opens an account. It reads its row, but not its records.
func (s *Store) Open(ctx context.Context, account string) (store.Log, error) {
	l := &Log{store: s, id: account}
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	l.chain, l.durable, l.appended = l.saved.chain, l.saved.lsn, l.saved.lsn
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[account] != nil {
		return nil, fmt.Errorf("data folder %s: account %q is open already", s.cfg.Dir, account)
	}
	s.logs[account] = l
	return l, nil
}

// read reads the row of the account, and creates it for a new account.
func (l *Log) read(ctx context.Context) error {
	var chain, sum, check []byte
	found, err := l.store.first(ctx, []any{&l.number, &l.about, &l.saved.generation, &l.saved.lsn, &chain, &l.saved.size, &sum, &check},
		"SELECT number, about, generation, lsn, chain, size, sum, own FROM account WHERE id = ?", l.id)
	if err != nil {
		return err
	}
	if !found {
		return l.create(ctx)
	}
	l.opened = l.about
	copy(l.saved.chain[:], chain)
	copy(l.saved.sum[:], sum)
	if own := l.checksum(); !bytes.Equal(check, own[:]) {
		return l.store.damaged(fmt.Sprintf("account %q: its credentials or the place of its snapshot", l.id))
	}
	return nil
}

// create creates the row of a new account. It draws the number under the lock, because
// accounts may be created concurrently.
func (l *Log) create(ctx context.Context) error {
	l.store.mu.Lock()
	l.store.accounts++
	l.number = l.store.accounts
	l.store.mu.Unlock()
	return l.store.update(ctx, l.put)
}

// put writes the row of the account. It fails if another account has the same number.
func (l *Log) put(do exec) error {
	own := l.checksum()
	return do("INSERT INTO account (number, id, about, generation, lsn, chain, size, sum, own) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"+
		" ON CONFLICT (id) DO UPDATE SET about = excluded.about, generation = excluded.generation, lsn = excluded.lsn, chain = excluded.chain, size = excluded.size, sum = excluded.sum, own = excluded.own",
		l.number, l.id, l.about, l.saved.generation, int64(l.saved.lsn), l.saved.chain[:], l.saved.size, l.saved.sum[:], own[:])
}

// settled waits for transactions in progress and returns the last snapshot.
func (l *Log) settled(ctx context.Context) (last saved, err error) {
	err = l.store.within(ctx, func() error { last = l.saved; return nil })
	if err != nil {
		return saved{}, err
	}
	return last, nil
}

// checksum returns the checksum of the row.
func (l *Log) checksum() [sha256.Size]byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%d %q %d %d %x %d %x %x", l.number, l.id, l.saved.generation, l.saved.lsn, l.saved.chain, l.saved.size, l.saved.sum, l.about)
	return sha256.Sum256(text.Bytes())
}

// rowSize is the largest size of a row in bytes, except for a single larger record.
const rowSize = 256 << 10

// Append adds a record to the next group, in the text in which it is written.
func (l *Log) Append(r record) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.open == nil || !l.open.takes(r) {
		l.open = &entry{log: l}
		l.store.queue = append(l.store.queue, l.open)
	}
	l.appended = r.LSN
	l.open.add(r)
	l.store.gather()
}

// takes reports whether a row has room for a record.
func (e *entry) takes(r record) bool { return len(e.text)+len(r.Body) <= rowSize }

// add adds a record to a row.
func (e *entry) add(r record) {
	e.text, e.last = r.AppendTo(e.text), r.LSN
	e.records++
	e.size += int64(len(r.Body))
}

// Commit waits until the group of the record is durable.
func (l *Log) Commit(ctx context.Context, lsn uint64) error {
	for {
		g := l.store.groupOf(l, lsn)
		if g == nil {
			return nil
		}
		if err := l.store.wait(ctx, g); err != nil {
			return err
		}
	}
}

// Close waits until the appended records are durable, and releases the account.
func (l *Log) Close() error {
	s := l.store
	s.mu.Lock()
	last := l.appended
	s.mu.Unlock()
	err := l.Commit(context.Background(), last)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[l.id] == l {
		delete(s.logs, l.id)
	}
	return err
}

// groupOf returns the group with which a record becomes durable; nil if it is durable.
func (s *Store) groupOf(l *Log, lsn uint64) *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.durable >= lsn {
		return nil
	}
	for _, e := range s.queue[:s.taken] {
		if e.log == l && e.last >= lsn {
			return s.joined(s.current)
		}
	}
	return s.joined(s.next)
}

// insert writes a group as one transaction. The caller has the turn.
func (s *Store) insert(batch []*entry) error {
	if len(batch) == 0 {
		return nil
	}
	chains := map[*Log]store.Chain{}
	err := s.transact(func(do exec) error {
		for _, e := range batch {
			l := e.log
			if e.isAbout {
				l.about = e.text
				if err := l.put(do); err != nil {
					return err
				}
				continue
			}
			sum, ok := chains[l]
			if !ok {
				sum = l.chain
			}
			sum = sum.Next(e.text)
			chains[l] = sum
			if err := do("INSERT INTO journal (place, records, chain) VALUES (?, ?, ?)", l.place(e.last), string(e.text), sum[:]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for l, sum := range chains {
		l.chain = sum
	}
	return nil
}

// Lost returns nil, because one process at a time uses a folder.
func (l *Log) Lost() <-chan struct{} { return nil }

// About returns the about data as they were when the account was opened.
func (l *Log) About() []byte { return l.opened }

// SetAbout replaces the about data. Like a record, they stay in the queue until they can be
// written.
func (l *Log) SetAbout(ctx context.Context, about []byte) error {
	s := l.store
	s.mu.Lock()
	s.queue = append(s.queue, &entry{log: l, text: about, isAbout: true})
	g := s.joined(s.next)
	s.mu.Unlock()
	return s.wait(ctx, g)
}

// pageSize and pageBytes limit how many rows are read at once.
const (
	pageSize  = 1000
	pageBytes = 4 << 20
)

// Records yields the records after the snapshot.
func (l *Log) Records(ctx context.Context) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		from, err := l.settled(ctx)
		if err != nil {
			yield(record{}, err)
			return
		}
		chain, lsn, size, at := from.chain, from.lsn, int64(0), l.place(from.lsn)
		for {
			page, more, err := l.page(ctx, at)
			if err != nil {
				yield(record{}, err)
				return
			}
			for i := range page {
				chain, at = chain.Next(page[i].records), page[i].place
				list, err := l.recordsOf(&page[i], chain, lsn)
				if err != nil {
					yield(record{}, err)
					return
				}
				for _, r := range list {
					if !yield(r, nil) {
						return
					}
					lsn, size = r.LSN, size+int64(len(r.Body))
				}
			}
			if !more {
				l.continueFrom(&from, lsn, chain, size)
				return
			}
		}
	}
}

// recordsOf returns the records of a row after lsn, the number of the last record before
// them. It checks the row's checksum and that no record is missing.
func (l *Log) recordsOf(row *chained, chain store.Chain, lsn uint64) ([]record, error) {
	list, err := journal.DecodeList(row.records)
	if err != nil || chain != row.chain || len(list) == 0 || row.place != l.place(list[len(list)-1].LSN) {
		return nil, l.store.damaged(fmt.Sprintf("account %q: record %d", l.id, lsn+1))
	}
	for len(list) > 0 && list[0].LSN <= lsn { // the snapshot ends within this row
		list = list[1:]
	}
	for i := range list {
		if lsn++; list[i].LSN != lsn {
			return nil, l.store.damaged(fmt.Sprintf("account %q: record %d is missing", l.id, lsn))
		}
	}
	return list, nil
}

// continueFrom notes the end of the journal after its first reading.
func (l *Log) continueFrom(from *saved, lsn uint64, chain store.Chain, size int64) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.placed || l.appended > lsn {
		return // the account is in use already
	}
	l.placed = true
	l.chain, l.durable, l.appended = chain, lsn, lsn
	l.behind = store.Behind{Records: int64(lsn - from.lsn), Bytes: size, Snapshot: from.size}
}

// chained is a row that was read.
type chained struct {
	place   int64
	records []byte
	chain   store.Chain
}

// errPageFull ends the query for a page.
var errPageFull = errors.New("the page is full")

// page reads rows after a place, and reports whether more may follow.
func (l *Log) page(ctx context.Context, place int64) (page []chained, more bool, err error) {
	size := 0
	err = l.store.query(ctx, func(rows *sql.Rows) error {
		var c chained
		var chain []byte
		err := rows.Scan(&c.place, &c.records, &chain)
		copy(c.chain[:], chain)
		page = append(page, c)
		if size += len(c.records); err == nil && size > pageBytes {
			return errPageFull
		}
		return err
	}, "SELECT place, records, chain FROM journal WHERE place > ? AND place < ? ORDER BY place LIMIT ?", place, (l.number+1)<<placeBits, pageSize)
	if errors.Is(err, errPageFull) {
		return page, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return page, len(page) == pageSize, nil
}
