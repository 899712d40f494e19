package traffic

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/understudy-mock/understudy/engine"
)

// Limit is the maximum number of entries in each journal of an account; the
// oldest are dropped first. The server bounds their bytes, see Forget.
const Limit = 10_000

// MaxBatch is the maximum number of entries that a follower gets at once. It is small
// because a slow follower keeps them in memory after the journal drops them.
const MaxBatch = 8

// Exchanges and Deliveries are the two journals of an account.
type (
	Exchanges  struct{ Journal[Exchange, *Exchange] }
	Deliveries struct{ Journal[Delivery, *Delivery] }
)

// Add appends an entry, closes the channel of Next, and drops the oldest beyond Limit.
// It keeps no part of the entry except for large bodies and values of headers.
func (j *Exchanges) Add(x *Exchange) {
	c := newWriter()
	x.fields(c) // not through Entry: the compiler would move the entry to the heap
	j.add(c)
}

// Add is the same as Exchanges.Add for deliveries.
func (j *Deliveries) Add(d *Delivery) {
	c := newWriter()
	d.fields(c)
	j.add(c)
}

// Journal keeps the latest entries, up to its bounds. Reads hold the lock only to
// find records. They decode them and mask credentials after they release it, because
// that takes long for large bodies.
type Journal[T any, E Entry[T]] struct {
	memory  *engine.Ledger // counts the bytes of all journals of the server
	bytes   atomic.Int64
	mu      sync.Mutex
	chunks  []*chunk
	first   int           // position of the oldest kept entry
	kept    int           // number of kept entries
	dropped int           // entries dropped since the last Clear
	added   chan struct{} // closed by the next entry; nil while nothing waits
	spare   []byte        // of the last dropped chunk of the usual size, which no reader has seen, for the next chunk
}

// CountIn makes a ledger count the bytes of the entries. It must be called before
// the first Add.
func (j *Journal[T, E]) CountIn(ledger *engine.Ledger) { j.memory = ledger }

// Observed is the size of the entries in bytes. It takes no lock.
func (j *Journal[T, E]) Observed() int64 { return j.bytes.Load() }

func (j *Journal[T, E]) count(bytes int64) {
	j.bytes.Add(bytes)
	j.memory.AddObserved(bytes)
}

// add appends a record, and frees its writer.
func (j *Journal[T, E]) add(c *codec) {
	defer c.free()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.added != nil {
		close(j.added)
		j.added = nil
	}
	var last *chunk
	if n := len(j.chunks); n > 0 {
		last = j.chunks[n-1]
	}
	grown := int64(0)
	if last == nil || !last.fits(len(c.bytes)) {
		last = last.after(len(c.bytes)+frameSize, j.spare)
		j.spare = nil
		j.chunks = append(j.chunks, last)
		grown = last.size
	}
	if grown += last.add(record{fields: c.bytes, large: c.large}); grown > 0 {
		j.count(grown)
	}
	j.kept++
	j.shed(max(0, j.kept-Limit))
}

// Forget frees memory, the given bytes if possible, and returns the freed bytes.
// It drops headers and bodies, the oldest first. If that is not enough, it drops
// the older half of the entries.
func (j *Journal[T, E]) Forget(bytes int64) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.bytes.Load()
	freed := func() int64 { return before - j.bytes.Load() }
	for i := 0; i < len(j.chunks) && freed() < bytes; i++ {
		if c := j.chunks[i]; c.bare < c.kept {
			j.rewrite(i, bytes-freed())
		}
	}
	if freed() < bytes {
		j.shed((j.kept + 1) / 2)
		if len(j.chunks) > 0 {
			j.rewrite(0, 0) // without the records that were shed
		}
	}
	j.spare = nil
	return freed()
}

// rewrite drops the oldest headers and bodies of a chunk, and what it has shed. Readers
// keep the bytes that they have found.
func (j *Journal[T, E]) rewrite(i int, bytes int64) {
	c := withoutOldest[T, E](j.chunks[i], bytes)
	j.count(c.size - j.chunks[i].size)
	j.chunks[i] = c
}

// shed drops the oldest n entries.
func (j *Journal[T, E]) shed(n int) {
	j.first += n
	j.kept -= n
	j.dropped += n
	whole := 0
	for n > 0 {
		c := j.chunks[whole]
		if n < c.kept {
			c.drop(n)
			break
		}
		n -= c.kept
		j.count(-c.size)
		if !c.read && cap(c.bytes) == maxChunk {
			j.spare = c.bytes
		}
		whole++
	}
	j.chunks = slices.Delete(j.chunks, 0, whole)
}

// Next returns a channel that the next Add closes.
func (j *Journal[T, E]) Next() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.added == nil {
		j.added = make(chan struct{})
	}
	return j.added
}

// List returns the latest entries that the filter selects, oldest first, and the number
// of dropped entries. A limit of 0 or less means Limit.
func (j *Journal[T, E]) List(limit int, f Filter) (entries []T, dropped int) {
	found, dropped := j.find(limit, &f)
	return decodeAll[T, E](found), dropped
}

// Count returns the number of entries that the filter selects. It decodes none.
func (j *Journal[T, E]) Count(f Filter) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	oldest := j.first
	for _, c := range j.chunks {
		n += c.count(oldest, &f)
		oldest += c.kept
	}
	return n
}

func (j *Journal[T, E]) find(limit int, f *Filter) (found []record, dropped int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if limit <= 0 {
		limit = Limit
	}
	oldest := j.first + j.kept
	for i := len(j.chunks) - 1; i >= 0 && len(found) < limit; i-- {
		c := j.chunks[i]
		oldest -= c.kept
		start := len(found)
		found, _ = c.find(found, oldest, oldest, c.kept, f)
		slices.Reverse(found[start:])
	}
	found = found[:min(limit, len(found))]
	slices.Reverse(found)
	return found, j.dropped
}

// decodeAll returns the entries of records, without credentials.
func decodeAll[T any, E Entry[T]](records []record) []T {
	entries := make([]T, len(records))
	for i, r := range records {
		e := E(&entries[i])
		r.read(e)
		e.setPosition(r.position)
		e.hide()
	}
	return entries
}

// Clear removes all entries and resets the number of dropped ones. Waiters for the
// next entry keep waiting.
func (j *Journal[T, E]) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.count(-j.bytes.Load())
	j.first += j.kept
	j.chunks, j.kept, j.dropped, j.spare = nil, 0, 0, nil
}

// End is the position of the next entry. Positions count all entries that were ever
// added, also dropped and cleared ones.
func (j *Journal[T, E]) End() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first + j.kept
}

// Since returns at most MaxBatch entries that the filter selects, from a position on,
// the position after the last one that was looked at, and a channel that is closed when
// there are more.
func (j *Journal[T, E]) Since(position int, f Filter) (entries []T, end int, more <-chan struct{}) {
	more = j.Next()
	found, end, whole := j.following(position, &f)
	if !whole {
		more = closedChannel
	}
	return decodeAll[T, E](found), end, more
}

// following is Since without decoding. It reports whether it has looked at all entries.
func (j *Journal[T, E]) following(position int, f *Filter) (found []record, end int, whole bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	end = j.first
	for _, c := range j.chunks {
		oldest := end
		if end += c.kept; end <= position {
			continue
		}
		if found, end = c.find(found, oldest, position, MaxBatch-len(found), f); end < oldest+c.kept {
			return found, end, false
		}
	}
	return found, end, true
}

// closedChannel signals at once.
var closedChannel = func() <-chan struct{} {
	sign := make(chan struct{})
	close(sign)
	return sign
}()
