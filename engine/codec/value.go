package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

// Text is a member that is a text.
func Text[T ~string](c *Codec, name string, v *T) {
	c.member(name, *v == "", func() { c.writeText(string(*v)) }, func() { *v = T(c.readText()) })
}

// Bytes is a member that is bytes, empty ones left out.
func Bytes[T ~[]byte](c *Codec, name string, v *T) {
	c.member(name, len(*v) == 0, func() { c.writeBytes(*v) }, func() { *v = T(c.readBytes()) })
}

// Int is a member that is a whole number.
func Int[T ~int | ~int32 | ~int64 | ~uint64](c *Codec, name string, v *T) {
	c.member(name, *v == 0, func() { writeInt(c, *v) }, func() { *v = readInt[T](c) })
}

// Bool is a member that is true or left out.
func Bool(c *Codec, name string, v *bool) {
	c.member(name, !*v, func() { c.out.Bool(*v) }, func() { *v = c.readBool() })
}

// Time is a member that is a time.
func Time(c *Codec, name string, v *time.Time) {
	c.member(name, v.IsZero(), func() { c.writeTime(*v) }, func() { *v = c.readTime() })
}

// Duration is a member that is a duration.
func Duration(c *Codec, name string, v *time.Duration) {
	c.member(name, *v == 0, func() { c.out.Str(v.String()) }, func() {
		d, err := time.ParseDuration(c.readText())
		c.fail(err)
		*v = d
	})
}

// OptionalInt, OptionalBool and OptionalText are written also when they are
// zero; nil is left out.
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

// Parsed is a member that is the text of a value, nil for none.
func Parsed[T any](c *Codec, name string, v **T, text func(*T) string, parse func(string) (*T, error)) {
	c.member(name, *v == nil, func() { c.writeText(text(*v)) }, func() {
		var err error
		*v, err = parse(c.readText())
		c.fail(err)
	})
}

// JSON is a member that has a form of its own: that of encoding/json.
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

// Object is a member that is an object, left out when nothing is in it.
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

// Optional is a member that is an object, nil for none.
func Optional[T any](c *Codec, name string, v **T, members func(*T, *Codec)) {
	c.member(name, *v == nil, func() { c.value(func(c *Codec) { members(*v, c) }) }, func() {
		*v = new(T)
		c.value(func(c *Codec) { members(*v, c) })
	})
}

// List is a member that is a list of objects.
func List[T any](c *Codec, name string, v *[]T, members func(*T, *Codec)) {
	list(c, name, v, func(one *T) { c.value(func(c *Codec) { members(one, c) }) }, func() (one T) {
		c.value(func(c *Codec) { members(&one, c) })
		return one
	})
}

// Texts is a member that is a list of texts.
func Texts(c *Codec, name string, v *[]string) {
	list(c, name, v, func(s *string) { c.writeText(*s) }, c.readText)
}

// Blobs is a member that is a list of bytes.
func Blobs(c *Codec, name string, v *[][]byte) {
	list(c, name, v, func(b *[]byte) { c.writeBytes(*b) }, c.readBytes)
}

// Times is a member that is a list of times.
func Times(c *Codec, name string, v *[]time.Time) {
	list(c, name, v, func(t *time.Time) { c.writeTime(*t) }, c.readTime)
}

// Ints is a member that is a list of whole numbers.
func Ints[T ~int | ~int32](c *Codec, name string, v *[]T) {
	list(c, name, v, func(n *T) { writeInt(c, *n) }, func() T { return readInt[T](c) })
}

// Floats is a member that is a list of numbers.
func Floats(c *Codec, name string, v *[]float32) {
	list(c, name, v, func(f *float32) { c.out.Float32(*f) }, func() float32 {
		f, err := c.in.Float32()
		c.fail(err)
		return f
	})
}

// list is a member that is a list, left out when it is empty.
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

// Header is a member whose names have several values each, sorted by name.
func Header[T ~map[string][]string](c *Codec, name string, v *T) {
	dictionary(c, name, v, func(key string) {
		values := (*v)[key]
		list(c, key, &values, func(s *string) { c.writeText(*s) }, nil)
		if len(values) == 0 {
			c.name(key)
			c.out.RawStr("[]")
			c.comma = true
		}
	}, func() (values []string) {
		values = []string{}
		c.elements(func() { values = append(values, c.readText()) })
		return values
	})
}

// TextMap is a member whose names have one text each, sorted by name.
func TextMap(c *Codec, name string, v *map[string]string) {
	dictionary(c, name, v, func(key string) {
		c.name(key)
		c.writeText((*v)[key])
		c.comma = true
	}, c.readText)
}

// Counts is a member whose names have one number each, sorted by name.
func Counts(c *Codec, name string, v *map[string]int) {
	dictionary(c, name, v, func(key string) {
		c.name(key)
		writeInt(c, (*v)[key])
		c.comma = true
	}, func() int { return readInt[int](c) })
}

// dictionary is a member whose names are data.
func dictionary[M ~map[string]V, V any](c *Codec, name string, v *M, write func(key string), read func() V) {
	c.member(name, len(*v) == 0, func() {
		c.out.ObjStart()
		c.comma = false
		for _, key := range slices.Sorted(maps.Keys(*v)) {
			if !utf8.ValidString(key) {
				c.Failf("%s: name %q is not UTF-8", name, key)
			}
			write(key)
		}
		c.out.ObjEnd()
	}, func() {
		*v = M{}
		all, err := c.in.ObjIter()
		for err == nil && c.err == nil && all.Next() {
			key := string(all.Key())
			(*v)[key] = read()
		}
		if err == nil {
			err = all.Err()
		}
		c.fail(c.explain(err))
	})
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

// binary reads what is not UTF-8, or else gives the text.
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

// number is the text of a number.
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

// writeTime writes Unix ms, with a fraction where there is one.
func (c *Codec) writeTime(t time.Time) {
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
