package codec

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-faster/jx"
)

// Codec writes or reads one document.
type Codec struct {
	to    io.Writer // nil while reading
	out   jx.Writer
	comma bool          // a comma must precede the next member or element
	shift time.Duration // of all times that are written

	in     *jx.Decoder // of the document, or of the current entry of a section
	entry  bool        // in decodes an entry
	object cursor
	place  []step // path of the value that is being read, for errors
	err    error
}

// step is one part of a path: a member of an object, or an element of a list.
type step struct {
	name string // "" for an element of a list
	at   int
}

// cursor is the next member of the object that is being read.
type cursor struct {
	members jx.ObjIter
	key     []byte
	more    bool
	seen    int      // members read
	large   []string // names of the sections read so far, to detect repeated ones
}

// flushAt is the size of the buffer, in bytes, above which it is written out.
const flushAt = 64 << 10

// NewWriter returns a codec that writes a document. Close writes the rest of it.
func NewWriter(to io.Writer) *Codec { return &Codec{to: to} }

// NewReader returns a codec that reads a document.
func NewReader(from io.Reader) *Codec { return &Codec{in: jx.Decode(from, flushAt)} }

// Shift makes a writer move all times by a duration, which may be negative.
func (c *Codec) Shift(by time.Duration) { c.shift = by }

// Writing reports whether the document is being written.
func (c *Codec) Writing() bool { return c.to != nil }

// Err is the first error. After an error, all calls do nothing.
func (c *Codec) Err() error { return c.err }

// Failf records an error at the current place of the document.
func (c *Codec) Failf(format string, args ...any) { c.fail(fmt.Errorf(format, args...)) }

func (c *Codec) fail(err error) {
	if c.err == nil && err != nil {
		var place strings.Builder
		for i, s := range c.place {
			switch {
			case s.name == "":
				fmt.Fprintf(&place, "[%d]", s.at)
			case i > 0:
				place.WriteString("." + s.name)
			default:
				place.WriteString(s.name)
			}
		}
		if c.err = err; place.Len() > 0 {
			c.err = fmt.Errorf("%s: %w", place.String(), err)
		}
	}
}

// Close writes the rest of a document, or, when reading, checks that nothing follows the
// document. It returns the first error.
func (c *Codec) Close() error {
	if c.Writing() {
		c.flush(0)
		return c.err
	}
	if c.err == nil && !errors.Is(c.in.Skip(), io.EOF) {
		c.Failf("more after the end of the document")
	}
	return c.err
}

// flush writes the buffer if it has more than most bytes.
func (c *Codec) flush(most int) {
	if c.err != nil || len(c.out.Buf) <= most {
		return
	}
	_, c.err = c.to.Write(c.out.Buf)
	c.out.Buf = c.out.Buf[:0]
}

// Document writes or reads the object that is the whole document.
func (c *Codec) Document(members func(*Codec)) {
	c.value(members)
}

// value writes or reads an object. When reading, it calls members until all members are
// read, because they may come in any order.
func (c *Codec) value(members func(*Codec)) {
	if c.err != nil {
		return
	}
	if c.Writing() {
		c.out.ObjStart()
		c.comma = false
		members(c)
		c.out.ObjEnd()
		c.comma = true
		return
	}
	if kind := c.in.Next(); kind != jx.Object && kind != jx.Invalid {
		c.fail(fmt.Errorf("received %s: must be an object", kind))
		return
	}
	outer := c.object
	all, err := c.in.ObjIter()
	if err != nil {
		c.fail(c.explain(err))
		return
	}
	c.object = cursor{members: all}
	c.next()
	for again := true; c.err == nil && again; again = c.object.more {
		before := c.object.seen
		members(c)
		if c.err == nil && c.object.more && c.object.seen == before {
			c.Failf("unknown or repeated member %.80q", c.object.key)
		}
	}
	c.object = outer
}

// next moves to the next member of the object that is being read.
func (c *Codec) next() {
	o := &c.object
	if o.more = o.members.Next(); o.more {
		o.key = o.members.Key()
	} else {
		c.fail(c.explain(o.members.Err()))
	}
}

// member writes or reads one member. When writing, it leaves out a zero value. When
// reading, a value that is not zero has been read before, which is an error.
func (c *Codec) member(name string, isZero bool, write, read func()) {
	switch {
	case c.err != nil:
	case c.Writing():
		if !isZero {
			c.name(name)
			write()
			c.comma = true
		}
	case c.at(name):
		if !isZero {
			c.Failf("member %q: repeated", name)
			return
		}
		c.place = append(c.place, step{name: name})
		read()
		c.place = c.place[:len(c.place)-1]
		c.object.seen++
		if c.err == nil {
			c.next()
		}
	}
}

// name writes the name of a member.
func (c *Codec) name(name string) {
	if c.comma {
		c.out.Comma()
	}
	c.out.FieldStart(name)
	c.comma = false
}

// at reports whether the next member has this name.
func (c *Codec) at(name string) bool {
	key := c.object.key
	if !c.object.more || len(key) != len(name) {
		return false
	}
	return string(key) == name || key[0] >= 'A' && key[0] <= 'Z' && strings.EqualFold(string(key), name)
}

// element begins an element of a list.
func (c *Codec) element() {
	if c.comma {
		c.out.Comma()
	}
	c.comma = false
}

// Section writes or reads a list of any length, one entry at a time. When reading, take
// receives each entry; the value it points to is reused for the next one.
func Section[T any](c *Codec, name string, entries iter.Seq[*T], members func(*T, *Codec), take func(*T)) {
	if c.Writing() {
		c.writeList(name, func(element func(func(*Codec))) {
			for v := range entries {
				element(func(c *Codec) { members(v, c) })
			}
		})
		return
	}
	var entry jx.Decoder
	var v, zero T
	c.readList(name, func(stream *jx.Decoder) {
		raw, err := stream.Raw()
		if err != nil {
			c.fail(c.explain(err))
			return
		}
		entry.ResetBytes(raw)
		c.in, c.entry = &entry, true
		v = zero
		c.value(func(c *Codec) { members(&v, c) })
		c.in, c.entry = stream, false
		if c.err == nil {
			take(&v)
		}
	})
}

// Nested writes or reads a member that is an object with sections.
func Nested(c *Codec, name string, members func(*Codec)) {
	if c.Writing() {
		c.member(name, false, func() { c.value(members) }, nil)
	} else {
		c.once(name, func() { c.value(members) })
	}
}

// Stream writes or reads a list of few elements that may themselves be long. n is the
// number of elements to write; reading ignores it.
func Stream(c *Codec, name string, n int, element func(i int, c *Codec)) {
	if c.Writing() {
		c.writeList(name, func(write func(func(*Codec))) {
			for i := range n {
				write(func(c *Codec) { element(i, c) })
			}
		})
		return
	}
	i := 0
	c.readList(name, func(*jx.Decoder) {
		c.value(func(c *Codec) { element(i, c) })
		i++
	})
}

// writeList writes a list unless it is empty.
func (c *Codec) writeList(name string, all func(element func(func(*Codec)))) {
	if c.err != nil {
		return
	}
	empty := true
	all(func(members func(*Codec)) {
		if empty {
			c.name(name)
			c.out.ArrStart()
			empty = false
		}
		c.element()
		c.value(members)
		c.flush(flushAt)
	})
	if !empty {
		c.out.ArrEnd()
		c.comma = true
	}
}

// readList reads a list if it is the next member.
func (c *Codec) readList(name string, element func(*jx.Decoder)) {
	c.once(name, func() { c.elements(func() { element(c.in) }) })
}

// once reads a member if it is next. A second one with the same name is an error.
func (c *Codec) once(name string, read func()) {
	c.member(name, !slices.Contains(c.object.large, name), nil, func() {
		c.object.large = append(c.object.large, name)
		read()
	})
}

// elements reads the list at the current place, one element at a time.
func (c *Codec) elements(element func()) {
	all, err := c.in.ArrIter()
	if err != nil {
		c.fail(c.explain(err))
		return
	}
	c.place = append(c.place, step{})
	for i := 0; c.err == nil && all.Next(); i++ {
		c.place[len(c.place)-1].at = i
		element()
	}
	c.place = c.place[:len(c.place)-1]
	if c.err == nil {
		c.fail(c.explain(all.Err()))
	}
}

// explain makes an error of the decoder readable.
func (c *Codec) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("ends too early: it was cut off")
	}
	found := unexpectedByte.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	at, _ := strconv.Atoi(found[3])
	text := fmt.Sprintf("unexpected %s at byte %d", found[2], at+1)
	if c.entry {
		text += " of the entry"
	}
	if want, ok := strings.CutSuffix(found[1], " expected: "); ok {
		text += ": must be " + strings.TrimSpace(want[strings.LastIndex(want, ": ")+1:])
	}
	return errors.New(text)
}

// unexpectedByte matches an error of the decoder, which does not export its type: what the
// decoder was doing, the character, and its position, from 0.
var unexpectedByte = regexp.MustCompile(`(?s)^(.*)unexpected byte \d+ ('.*') at (\d+)$`)
