package codec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
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

	in     *jx.Decoder         // of the document, or of the current entry of a section
	named  []byte              // the name of the current member of an object that is read by a function
	ahead  bool                // the value of that member is not read yet
	header map[string][]string // the latest header that becomes a text, to reuse the memory
	large  []string            // names of the sections read so far in that object, to detect repeated ones
	err    error
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
	if c.err == nil {
		c.err = err
	}
}

// placedError is an error in a part of a document.
type placedError struct {
	place string // the path of the part
	error
}

// Error has the place and the reason.
func (e placedError) Error() string { return e.place + ": " + e.error.Error() }

// Unwrap returns the reason.
func (e placedError) Unwrap() error { return e.error }

// within adds the part that has just been read to the place of its error, if it has one: a
// member of an object, or an element of a list.
func (c *Codec) within(part string) {
	if c.err == nil {
		return
	}
	e, ok := c.err.(placedError) //nolint:errorlint // an error that wraps another place has no place itself
	switch {
	case !ok:
		e = placedError{part, c.err}
	case strings.HasPrefix(e.place, "["):
		e.place = part + e.place
	default:
		e.place = part + "." + e.place
	}
	c.err = e
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

// value writes or reads an object. When reading, it calls members for each member, because
// they may come in any order; and once before, for what an empty object has.
func (c *Codec) value(members func(*Codec)) {
	if c.err != nil {
		return
	}
	if c.Writing() {
		c.begin()
		members(c)
		c.end()
		return
	}
	outer := c.large
	c.large, c.ahead = nil, false
	members(c)
	c.object(func(key []byte) {
		c.named, c.ahead = key, true
		if members(c); c.ahead {
			c.unknown(key)
		}
	})
	c.large, c.ahead = outer, false
}

// object reads an object; member must read the value of each member.
func (c *Codec) object(member func(key []byte)) {
	if c.err != nil {
		return
	}
	if kind := c.in.Next(); kind != jx.Object && kind != jx.Invalid {
		c.Failf("received %s: must be an object", kind)
		return
	}
	all, err := c.in.ObjIter()
	for err == nil && c.err == nil && all.Next() {
		member(all.Key())
	}
	c.fail(c.explain(cmp.Or(err, all.Err())))
}

func (c *Codec) unknown(key []byte) { c.Failf("unknown or repeated member %.80q", key) }

// label writes the name of a member and the colon.
func (c *Codec) label(text string) {
	if c.comma {
		c.out.Buf = append(c.out.Buf, ',')
	}
	c.out.Buf = append(c.out.Buf, text...)
	c.comma = true
}

// begin and end write the braces of an object.
func (c *Codec) begin() {
	c.out.ObjStart()
	c.comma = false
}

func (c *Codec) end() {
	c.out.ObjEnd()
	c.comma = true
}

// beginList and endList write the brackets of a list.
func (c *Codec) beginList() {
	c.out.ArrStart()
	c.comma = false
}

func (c *Codec) endList() {
	c.out.ArrEnd()
	c.comma = true
}

// member writes a member unless it is empty, or reads it if it is next.
func (c *Codec) member(name string, empty bool, write, read func()) {
	switch {
	case c.err != nil:
	case !c.Writing():
		if c.at(name) {
			c.readMember(name, empty, read)
		}
	case !empty:
		c.name(name)
		write()
	}
}

// readMember reads a member. Its value must be zero: otherwise it has been read before, which
// is an error.
func (c *Codec) readMember(name string, isZero bool, read func()) {
	c.ahead = false
	if !isZero {
		c.Failf("member %q: repeated", name)
		return
	}
	read()
	c.within(name)
}

// name writes the name of a member.
func (c *Codec) name(name string) {
	if c.comma {
		c.out.Comma()
	}
	c.out.FieldStart(name)
	c.comma = true // after the value; the beginning of an object or a list resets it
}

// at reports whether the next value is that of the member with this name.
func (c *Codec) at(name string) bool { return c.ahead && string(c.named) == name }

// element writes an element of a list, and what the buffer has if that is much.
func (c *Codec) element(write func()) {
	if c.comma {
		c.out.Comma()
	}
	c.comma = false
	write()
	c.comma = true
	if c.to != nil {
		c.flush(flushAt)
	}
}

// Section writes or reads a list of any length, one entry at a time. When reading, take
// receives each entry; the value it points to is reused for the next one.
func Section[T any](c *Codec, name string, entries iter.Seq[*T], take func(*T)) {
	form := documents.of(reflect.TypeFor[T]())
	if c.Writing() {
		writeSection(c, name, form, entries)
		return
	}
	var v, zero T
	c.once(name, func() {
		c.elements(func() {
			v = zero
			if form.read(c, reflect.ValueOf(&v).Elem()); c.err == nil {
				take(&v)
			}
		})
	})
}

// writeSection writes a list unless it is empty.
func writeSection[T any](c *Codec, name string, form *Form, entries iter.Seq[*T]) {
	empty := true
	for v := range entries {
		if c.err != nil {
			return
		}
		if empty {
			c.name(name)
			c.beginList()
			empty = false
		}
		c.element(func() { form.write(c, reflect.ValueOf(v).Elem()) })
	}
	if !empty {
		c.endList()
	}
}

// Nested writes or reads a member that is an object with sections.
func Nested(c *Codec, name string, members func(*Codec)) {
	value := func() { c.value(members) }
	if c.Writing() {
		c.member(name, false, value, nil)
	} else {
		c.once(name, value)
	}
}

// once reads a member if it is next. A second one with the same name is an error.
func (c *Codec) once(name string, read func()) {
	c.member(name, !slices.Contains(c.large, name), nil, func() {
		c.large = append(c.large, name)
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
	for i := 0; c.err == nil && all.Next(); i++ {
		if element(); c.err != nil {
			c.within(fmt.Sprintf("[%d]", i))
		}
	}
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
	if want, ok := strings.CutSuffix(found[1], " expected: "); ok {
		text += ": must be " + strings.TrimSpace(want[strings.LastIndex(want, ": ")+1:])
	}
	return errors.New(text)
}

// unexpectedByte matches an error of the decoder, which does not export its type: what the
// decoder was doing, the character, and its position, from 0.
var unexpectedByte = regexp.MustCompile(`(?s)^(.*)unexpected byte \d+ ('.*') at (\d+)$`)
