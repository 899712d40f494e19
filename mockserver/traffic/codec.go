package traffic

import (
	"encoding/binary"
	"math"
	"net/http"
	"slices"
	"sync"
)

// largePart is the length, in bytes, from which a body or the value of a header is kept
// by reference, which the engine shares. Shorter ones are copied: that costs less than an
// allocation that the garbage collector must look at.
const largePart = 2 << 10

// part is a large part of an entry: a body, or the value of a header.
type part struct {
	body []byte
	text string
}

// codec writes the fields of an entry into a record, or reads them from one. Both
// directions use the same list of fields, so that they cannot differ.
type codec struct {
	reading bool
	bytes   []byte // the record
	at      int    // where the next field is read
	text    string // a copy of the record: texts that are read are parts of it
	large   []part // the large parts of the record, in the order of its fields
}

// fields are those of a record. Those of a Filter come first.
func (x *Exchange) fields(c *codec) {
	refused := len(x.Problems) > 0 || x.Response.Status/100 > 3
	c.head(&x.OperationID, &x.Path, &x.Response.Status, new(int), &refused)
	codeNumber(c, &x.At)
	c.string(&x.Account)
	c.string(&x.Method)
	c.message(&x.Request)
	c.message(&x.Response)
	c.strings(&x.Problems)
	c.bool(&x.documents[0])
	c.bool(&x.documents[1])
}

func (d *Delivery) fields(c *codec) {
	c.head(&d.MessageID, &d.URL, &d.Response.Status, &d.Attempt, new(bool))
	codeNumber(c, &d.At)
	codeNumber(c, &d.RealAt)
	c.string(&d.Role)
	c.string(&d.Method)
	c.message(&d.Request)
	c.message(&d.Response)
	c.string(&d.Error)
	c.string(&d.Note)
	c.bool(&d.Stubbed)
	c.string(&d.NearMiss)
	duration := math.Float64bits(d.DurationMs)
	codeNumber(c, &duration)
	d.DurationMs = math.Float64frombits(duration)
}

// head are the fields of a Filter.
func (c *codec) head(id, url *string, status, attempt *int, refused *bool) {
	codeNumber(c, status)
	codeNumber(c, attempt)
	c.bool(refused)
	c.string(id)
	c.string(url)
}

// message are the fields of a half, without the status, which is in the head.
func (c *codec) message(m *Message) {
	c.header(&m.Header)
	c.body(&m.Body)
	codeNumber(c, &m.whole)
	c.bool(&m.dropped)
}

func codeNumber[T int | int64 | uint64](c *codec, n *T) {
	switch {
	case c.reading && c.bytes[c.at] < 0x80:
		*n = T(c.bytes[c.at])
		c.at++
	case c.reading:
		v, size := binary.Uvarint(c.bytes[c.at:])
		c.at += size
		*n = T(v)
	case uint64(*n) < 0x80:
		c.bytes = append(c.bytes, byte(*n))
	default:
		c.bytes = binary.AppendUvarint(c.bytes, uint64(*n))
	}
}

func (c *codec) bool(b *bool) {
	n := 0
	if *b {
		n = 1
	}
	codeNumber(c, &n)
	*b = n == 1
}

// inline reads a length, and skips the bytes that follow it.
func (c *codec) inline() (start, end int) {
	n := 0
	codeNumber(c, &n)
	c.at += n
	return c.at - n, c.at
}

func (c *codec) string(s *string) {
	if c.reading {
		start, end := c.inline()
		*s = c.text[start:end]
		return
	}
	c.bytes = append(binary.AppendUvarint(c.bytes, uint64(len(*s))), *s...)
}

// value writes twice the length and the text, or 1 for a large text.
func (c *codec) value(s *string) {
	switch {
	case c.reading:
		start, end, large := c.part()
		if *s = c.text[start:end]; large != nil {
			*s = large.text
		}
	case len(*s) >= largePart:
		c.bytes, c.large = append(c.bytes, 1), append(c.large, part{text: *s})
	default:
		c.bytes = append(binary.AppendUvarint(c.bytes, uint64(len(*s))*2), *s...)
	}
}

// body is value for bytes.
func (c *codec) body(b *[]byte) {
	switch {
	case c.reading:
		start, end, large := c.part()
		if large != nil {
			*b = large.body
		} else if start < end {
			*b = slices.Clone(c.bytes[start:end])
		}
	case len(*b) >= largePart:
		c.bytes, c.large = append(c.bytes, 1), append(c.large, part{body: *b})
	default:
		c.bytes = append(binary.AppendUvarint(c.bytes, uint64(len(*b))*2), *b...)
	}
}

// part reads the place of a text in the record, or the large part.
func (c *codec) part() (start, end int, large *part) {
	n := 0
	if codeNumber(c, &n); n == 1 {
		large, c.large = &c.large[0], c.large[1:]
		return c.at, c.at, large
	}
	c.at += n / 2
	return c.at - n/2, c.at, nil
}

// count codes the length of a list or map and one, and nil as 0.
func (c *codec) count(length int, isNil bool) int {
	n := length + 1
	if isNil {
		n = 0
	}
	codeNumber(c, &n)
	return n
}

func (c *codec) strings(list *[]string) {
	if n := c.count(len(*list), *list == nil); c.reading && n > 0 {
		*list = make([]string, n-1)
	}
	for i := range *list {
		c.value(&(*list)[i])
	}
}

func (c *codec) header(h *http.Header) {
	n := c.count(len(*h), *h == nil)
	if !c.reading {
		for name, values := range *h {
			c.string(&name)
			c.strings(&values)
		}
		return
	}
	if n == 0 {
		return
	}
	*h = make(http.Header, n-1)
	all := make([]string, 0, n-1) // most names have one value: all lists are parts of one
	for range n - 1 {
		var name string
		c.string(&name)
		length := c.count(0, false)
		if length == 0 {
			(*h)[name] = nil
			continue
		}
		start := len(all)
		for range length - 1 {
			all = append(all, "")
			c.value(&all[len(all)-1])
		}
		(*h)[name] = all[start:len(all):len(all)]
	}
}

// writerPool are codecs for Add, which need no new buffers.
var writerPool = sync.Pool{New: func() any { return new(codec) }}

func newWriter() *codec { return writerPool.Get().(*codec) }

// free returns a codec to the pool. A long buffer is left to the garbage collector.
func (c *codec) free() {
	if cap(c.bytes) > maxChunk {
		return
	}
	clear(c.large)
	c.bytes, c.large = c.bytes[:0], c.large[:0]
	writerPool.Put(c)
}

// Filter selects entries. The zero value selects all.
type Filter struct {
	ID       string // of the message, or of the operation; "": any
	URL      string // the start of the URL, or of the path
	Status   int    // of the response; 0: any
	Attempt  *int   // of a delivery; nil: any
	Position *int   // of a request; nil: any
	Refused  *bool  // whether a request was refused; nil: any
}

// matches reads the head of a record. It allocates nothing.
func (f *Filter) matches(r *record) bool {
	if *f == (Filter{}) {
		return true
	}
	status, at := readNumber(r.fields, 0)
	attempt, at := readNumber(r.fields, at)
	refused, at := readNumber(r.fields, at)
	length, start := readNumber(r.fields, at)
	id := r.fields[start : start+length]
	length, start = readNumber(r.fields, start+length)
	url := r.fields[start : start+length]
	return (f.Status == 0 || f.Status == status) &&
		(f.Attempt == nil || *f.Attempt == attempt) &&
		(f.Position == nil || *f.Position == r.position) &&
		(f.Refused == nil || *f.Refused == (refused == 1)) &&
		(f.ID == "" || f.ID == string(id)) &&
		(len(f.URL) <= len(url) && f.URL == string(url[:len(f.URL)]))
}
