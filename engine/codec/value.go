package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

// Text writes or reads a string member.
func Text[T ~string](c *Codec, name string, v *T) {
	c.member(name, *v == "", func() { c.writeText(string(*v)) }, func() { *v = T(c.readText()) })
}

// Bytes writes or reads a member of bytes; empty ones are left out.
func Bytes[T ~[]byte](c *Codec, name string, v *T) {
	c.member(name, len(*v) == 0, func() { c.writeBytes(*v) }, func() { *v = T(c.readBytes()) })
}

// Int writes or reads an integer member.
func Int[T ~int | ~int32 | ~int64 | ~uint64](c *Codec, name string, v *T) {
	c.member(name, *v == 0, func() { writeInt(c, *v) }, func() { *v = readInt[T](c) })
}

// Bool writes or reads a boolean member; false is left out.
func Bool(c *Codec, name string, v *bool) {
	c.member(name, !*v, func() { c.out.Bool(*v) }, func() { *v = c.readBool() })
}

// Time writes or reads a time; the zero time is left out.
func Time(c *Codec, name string, v *time.Time) {
	c.member(name, v.IsZero(), func() { c.writeTime(*v) }, func() { *v = c.readTime() })
}

// UnixTime writes or reads a time as a number of units since 1970; 0 is left out. A shift is
// rounded down to whole units.
func UnixTime(c *Codec, name string, v *int64, unit time.Duration) {
	c.member(name, *v == 0, func() {
		by := c.shift / unit
		if c.shift%unit < 0 {
			by--
		}
		c.out.Int64(*v + int64(by))
	}, func() { *v = readInt[int64](c) })
}

// Duration writes or reads a duration, as text.
func Duration(c *Codec, name string, v *time.Duration) {
	c.member(name, *v == 0, func() { c.out.Str(v.String()) }, func() {
		d, err := time.ParseDuration(c.readText())
		c.fail(err)
		*v = d
	})
}

// OptionalInt writes or reads an integer; nil is left out, zero is not.
func OptionalInt(c *Codec, name string, v **int) {
	c.member(name, *v == nil, func() { writeInt(c, **v) }, func() { *v = new(readInt[int](c)) })
}

// OptionalBool is like OptionalInt.
func OptionalBool(c *Codec, name string, v **bool) {
	c.member(name, *v == nil, func() { c.out.Bool(**v) }, func() { *v = new(c.readBool()) })
}

// OptionalText is like OptionalInt.
func OptionalText(c *Codec, name string, v **string) {
	c.member(name, *v == nil, func() { c.writeText(**v) }, func() { *v = new(c.readText()) })
}

// Parsed writes a member as text and reads it by parse; nil is left out.
func Parsed[T any](c *Codec, name string, v **T, text func(*T) string, parse func(string) (*T, error)) {
	c.member(name, *v == nil, func() { c.writeText(text(*v)) }, func() {
		var err error
		*v, err = parse(c.readText())
		c.fail(err)
	})
}

// JSON writes or reads a member in the format of encoding/json. Reading refuses unknown fields.
func JSON(c *Codec, name string, isZero bool, v any) {
	c.member(name, isZero, func() {
		raw, err := json.Marshal(v)
		c.fail(err)
		c.out.Raw(raw)
	}, func() {
		raw, err := c.in.Raw()
		if err == nil {
			strict := json.NewDecoder(bytes.NewReader(raw))
			strict.DisallowUnknownFields()
			err = strict.Decode(v)
		}
		c.fail(err)
	})
}

// Object writes or reads an object; it is left out when it has no members.
func Object[T any](c *Codec, name string, v *T, members func(*T, *Codec)) {
	if c.Writing() {
		before, comma := len(c.out.Buf), c.comma
		c.name(name)
		empty := len(c.out.Buf) + 1
		if c.value(func(c *Codec) { members(v, c) }); len(c.out.Buf) == empty+1 {
			c.out.Buf, c.comma = c.out.Buf[:before], comma
		}
		return
	}
	c.member(name, true, nil, func() { c.value(func(c *Codec) { members(v, c) }) })
}

// Optional writes or reads an object; nil is left out.
func Optional[T any](c *Codec, name string, v **T, members func(*T, *Codec)) {
	c.member(name, *v == nil, func() { c.value(func(c *Codec) { members(*v, c) }) }, func() {
		*v = new(T)
		c.value(func(c *Codec) { members(*v, c) })
	})
}

// List writes or reads a list of objects.
func List[T any](c *Codec, name string, v *[]T, members func(*T, *Codec)) {
	list(c, name, v, func(one *T) { c.value(func(c *Codec) { members(one, c) }) }, func() (one T) {
		c.value(func(c *Codec) { members(&one, c) })
		return one
	})
}

// Texts writes or reads a list of strings.
func Texts(c *Codec, name string, v *[]string) {
	list(c, name, v, func(s *string) { c.writeText(*s) }, c.readText)
}

// Blobs writes or reads a list of byte slices.
func Blobs(c *Codec, name string, v *[][]byte) {
	list(c, name, v, func(b *[]byte) { c.writeBytes(*b) }, c.readBytes)
}

// Times writes or reads a list of times.
func Times(c *Codec, name string, v *[]time.Time) {
	list(c, name, v, func(t *time.Time) { c.writeTime(*t) }, c.readTime)
}

// Ints writes or reads a list of integers.
func Ints[T ~int | ~int32](c *Codec, name string, v *[]T) {
	list(c, name, v, func(n *T) { writeInt(c, *n) }, func() T { return readInt[T](c) })
}

// Floats writes or reads a list of numbers.
func Floats(c *Codec, name string, v *[]float32) {
	list(c, name, v, func(f *float32) { c.out.Float32(*f) }, func() float32 {
		f, err := c.in.Float32()
		c.fail(err)
		return f
	})
}

// list writes or reads a list; an empty one is left out.
func list[T any](c *Codec, name string, v *[]T, write func(*T), read func() T) {
	c.member(name, len(*v) == 0, func() {
		c.out.ArrStart()
		c.comma = false
		for i := range *v {
			c.element()
			write(&(*v)[i])
			c.comma = true
		}
		c.out.ArrEnd()
	}, func() { c.elements(func() { *v = append(*v, read()) }) })
}

// Header writes or reads an object with a list of strings per name, sorted by name.
func Header[T ~map[string][]string](c *Codec, name string, v *T) {
	dictionary(c, name, v, func(key string) { writeValues(c, key, (*v)[key]) }, c.readTexts)
}

// writeValues writes a member with a list of texts, which may be empty.
func writeValues(c *Codec, name string, values []string) {
	list(c, name, &values, func(s *string) { c.writeText(*s) }, nil)
	if len(values) == 0 {
		c.name(name)
		c.out.RawStr("[]")
		c.comma = true
	}
}

// readTexts reads a list of texts; an empty one is not nil.
func (c *Codec) readTexts() []string {
	values := []string{}
	c.elements(func() { values = append(values, c.readText()) })
	return values
}

// SortedHeader is Header for a header that is no map. fields yields its names in their order,
// and read receives the header that was read.
func SortedHeader[T ~map[string][]string](c *Codec, name string, fields iter.Seq2[string, []string], empty bool, read func(T)) {
	c.member(name, empty, func() {
		c.out.ObjStart()
		c.comma = false
		for key, values := range fields {
			c.checkName(name, key)
			writeValues(c, key, values)
		}
		c.out.ObjEnd()
	}, func() {
		h := T{}
		readDictionary(c, &h, c.readTexts)
		read(h)
	})
}

// TextMap writes or reads an object with one string per name, sorted by name.
func TextMap(c *Codec, name string, v *map[string]string) {
	dictionary(c, name, v, func(key string) {
		c.name(key)
		c.writeText((*v)[key])
		c.comma = true
	}, c.readText)
}

// Counts writes or reads an object with one integer per name, sorted by name.
func Counts(c *Codec, name string, v *map[string]int) {
	dictionary(c, name, v, func(key string) {
		c.name(key)
		writeInt(c, (*v)[key])
		c.comma = true
	}, func() int { return readInt[int](c) })
}

// dictionary writes or reads an object whose names are data, not fixed members.
func dictionary[M ~map[string]V, V any](c *Codec, name string, v *M, write func(key string), read func() V) {
	c.member(name, len(*v) == 0, func() {
		c.out.ObjStart()
		c.comma = false
		for _, key := range slices.Sorted(maps.Keys(*v)) {
			c.checkName(name, key)
			write(key)
		}
		c.out.ObjEnd()
	}, func() {
		*v = M{}
		readDictionary(c, v, read)
	})
}

func readDictionary[M ~map[string]V, V any](c *Codec, v *M, read func() V) {
	all, err := c.in.ObjIter()
	for err == nil && c.err == nil && all.Next() {
		key := string(all.Key())
		(*v)[key] = read()
	}
	if err == nil {
		err = all.Err()
	}
	c.fail(c.explain(err))
}

func (c *Codec) checkName(name, key string) {
	if !utf8.ValidString(key) {
		c.Failf("%s: name %q is not UTF-8", name, key)
	}
}

func (c *Codec) writeText(s string) {
	if utf8.ValidString(s) {
		c.out.Str(s)
	} else {
		c.writeBase64([]byte(s))
	}
}

func (c *Codec) writeBytes(b []byte) {
	if utf8.Valid(b) {
		c.out.ByteStr(b)
	} else {
		c.writeBase64(b)
	}
}

func (c *Codec) writeBase64(b []byte) {
	c.out.RawStr(`{"base64":`)
	c.out.Base64(b)
	c.out.ObjEnd()
}

// binary reads bytes, or text. isBinary reports that they were written as base64; otherwise
// the result is valid only until the next read.
func (c *Codec) binary() (text []byte, isBinary bool) {
	if c.err != nil {
		return nil, false
	}
	if c.in.Next() == jx.Object {
		var raw []byte
		c.value(func(c *Codec) {
			c.member("base64", raw == nil, nil, func() {
				text, err := c.in.StrBytes()
				c.fail(c.explain(err))
				raw = []byte{}
				raw, err = base64.StdEncoding.AppendDecode(raw, text)
				c.fail(err)
			})
		})
		return raw, true
	}
	text, err := c.in.StrBytes()
	if err == nil && !utf8.Valid(text) {
		err = errors.New(`text is not UTF-8: must be {"base64": "..."}`)
	}
	c.fail(c.explain(err))
	return text, false
}

func (c *Codec) readText() string {
	text, _ := c.binary()
	return string(text)
}

func (c *Codec) readBytes() []byte {
	text, isBinary := c.binary()
	if isBinary {
		return text
	}
	return bytes.Clone(text)
}

func (c *Codec) readBool() bool {
	v, err := c.in.Bool()
	c.fail(c.explain(err))
	return v
}

func writeInt[T ~int | ~int32 | ~int64 | ~uint64](c *Codec, v T) {
	if v < 0 {
		c.out.Int64(int64(v))
	} else {
		c.out.UInt64(uint64(v))
	}
}

func readInt[T ~int | ~int32 | ~int64 | ~uint64](c *Codec) (v T) {
	n := c.number()
	if signed, err := strconv.ParseInt(n, 10, 64); err == nil && (signed < 0) == (T(signed) < 0) && int64(T(signed)) == signed {
		return T(signed)
	}
	if unsigned, err := strconv.ParseUint(n, 10, 64); err == nil && T(unsigned) > 0 && uint64(T(unsigned)) == unsigned {
		return T(unsigned)
	}
	c.Failf("number %.40s: must be a whole number of this size", n)
	return 0
}

// number reads a number and returns its text.
func (c *Codec) number() string {
	if c.err != nil {
		return "0"
	}
	n, err := c.in.Num()
	if err == nil && n.Str() {
		err = fmt.Errorf("text %.40s: must be a number", n)
	}
	if err != nil {
		c.fail(c.explain(err))
		return "0"
	}
	return string(n)
}

// writeTime writes Unix ms, with a fraction for times more precise than 1 ms.
func (c *Codec) writeTime(t time.Time) {
	t = t.Add(c.shift)
	c.out.Int64(t.UnixMilli())
	if rest := t.Nanosecond() % int(time.Millisecond); rest > 0 {
		c.out.RawStr(strings.TrimRight(fmt.Sprintf(".%06d", rest), "0"))
	}
}

func (c *Codec) readTime() time.Time {
	n := c.number()
	whole, fraction, _ := strings.Cut(n, ".")
	ms, err := strconv.ParseInt(whole, 10, 64)
	rest := int64(0)
	if err == nil && fraction != "" {
		rest, err = strconv.ParseInt((fraction + "000000")[:6], 10, 32)
	}
	if err != nil || len(fraction) > 6 {
		c.Failf("time %.40s: must be Unix ms, with at most six decimals", n)
		return time.Time{}
	}
	return time.UnixMilli(ms).Add(time.Duration(rest))
}
