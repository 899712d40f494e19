package traffic

import "encoding/binary"

// Sizes of chunks, in bytes. A journal starts with a small one, because most accounts
// have few entries; each further one is twice as long.
const (
	firstChunk = 2 << 10
	maxChunk   = 64 << 10
	chunkCost  = 128 // of a chunk without its records
)

// chunk is a sequence of records. Once a reader has found one of them, its bytes are only
// appended and never changed, so that readers may keep parts of them without the lock of
// the journal.
type chunk struct {
	bytes []byte // each record: the length of its fields, the number of its large parts, its fields
	large []part // the large parts of all records
	start place  // of the oldest kept record
	kept  int    // number of kept records
	bare  int    // the oldest ones of them that have neither headers nor bodies
	size  int64  // bytes of the memory
	read  bool   // a reader may have parts of the bytes
}

// place is where a record and its large parts start in a chunk.
type place struct{ offset, large int }

// record is an entry as bytes.
type record struct {
	position int
	fields   []byte
	large    []part
}

// after returns an empty chunk that follows c, with room for n bytes. The spare bytes may
// be nil.
func (c *chunk) after(n int, spare []byte) *chunk {
	room := 0
	if c != nil {
		room = min(2*cap(c.bytes), maxChunk)
	}
	if room = max(firstChunk, room, n); room == cap(spare) {
		return chunkOf(spare[:0])
	}
	return newChunk(room)
}

func newChunk(room int) *chunk { return chunkOf(make([]byte, 0, room)) }

func chunkOf(bytes []byte) *chunk {
	return &chunk{bytes: bytes, size: int64(cap(bytes) + chunkCost)}
}

// frameSize is the largest size, in bytes, of what comes before the fields of a record.
const frameSize = 2 * binary.MaxVarintLen32

// fits reports whether a record with n bytes of fields fits into the chunk.
func (c *chunk) fits(n int) bool { return n+frameSize <= cap(c.bytes)-len(c.bytes) }

// add appends a record, and returns by how many bytes the memory grows.
func (c *chunk) add(r record) (grown int64) {
	c.bytes = binary.AppendUvarint(c.bytes, uint64(len(r.fields)))
	c.bytes = binary.AppendUvarint(c.bytes, uint64(len(r.large)))
	c.bytes = append(c.bytes, r.fields...)
	c.large = append(c.large, r.large...)
	c.kept++
	grown = r.size() - int64(len(r.fields))
	c.size += grown
	return grown
}

// next returns the record at a place, and the place after it.
func (c *chunk) next(at place) (r record, end place) {
	length, start := readNumber(c.bytes, at.offset)
	large, start := readNumber(c.bytes, start)
	end = place{start + length, at.large + large}
	return record{fields: c.bytes[start:end.offset:end.offset], large: c.large[at.large:end.large:end.large]}, end
}

// readNumber reads a number at an index, and returns the index after it.
func readNumber(b []byte, at int) (n, end int) {
	if b[at] < 0x80 {
		return int(b[at]), at + 1
	}
	v, size := binary.Uvarint(b[at:])
	return int(v), at + size
}

// find appends at most limit records that the filter selects, the oldest first, from a
// position on. It returns the position after the last one that it has looked at. The
// oldest has the given position.
func (c *chunk) find(found []record, oldest, from, limit int, f *Filter) (all []record, end int) {
	at := c.start
	for i := range c.kept {
		r, after := c.next(at)
		r.position = oldest + i
		if r.position >= from && f.matches(&r) {
			if limit--; limit < 0 {
				return found, r.position
			}
			found, c.read = append(found, r), true
		}
		at = after
	}
	return found, oldest + c.kept
}

// count returns the number of records that the filter selects. The oldest has the given
// position.
func (c *chunk) count(oldest int, f *Filter) (n int) {
	at := c.start
	for i := range c.kept {
		r, after := c.next(at)
		if r.position = oldest + i; f.matches(&r) {
			n++
		}
		at = after
	}
	return n
}

// drop drops the oldest n records. Their memory is freed with the whole chunk.
func (c *chunk) drop(n int) {
	for range n {
		_, c.start = c.next(c.start)
	}
	c.kept -= n
	c.bare = max(0, c.bare-n)
}

// withoutOldest returns a chunk with the kept records, without headers and bodies in the
// oldest ones, as many as it takes to save the given bytes.
func withoutOldest[T any, E Entry[T]](c *chunk, bytes int64) *chunk {
	all, _ := c.find(nil, 0, 0, c.kept, &Filter{})
	saved, room, isBare := int64(0), 0, 0
	for i, r := range all {
		if i < c.bare {
			isBare++
		} else if saved < bytes {
			all[i] = bareRecord[T, E](r)
			saved += r.size() - all[i].size()
			isBare++
		}
		room += len(all[i].fields) + frameSize
	}
	out := newChunk(room)
	for _, r := range all {
		out.add(r)
	}
	out.bare = isBare
	return out
}

// bareRecord returns a record without headers and bodies.
func bareRecord[T any, E Entry[T]](r record) record {
	e := E(new(T))
	r.read(e)
	request, response := e.halves()
	request.drop()
	response.drop()
	var c codec
	e.fields(&c)
	return record{fields: c.bytes}
}

// size is the number of bytes that the record takes, without its frame.
func (r record) size() int64 {
	n := len(r.fields)
	for i := range r.large {
		n += len(r.large[i].body) + len(r.large[i].text)
	}
	return int64(n)
}

// read sets the fields of an entry to those of the record. It copies them, except for
// the large parts.
func (r record) read(e interface{ fields(c *codec) }) {
	e.fields(&codec{reading: true, bytes: r.fields, text: string(r.fields), large: r.large})
}
