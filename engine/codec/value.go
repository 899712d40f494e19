package codec

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

// JSON writes or reads a member in the format of encoding/json. Reading refuses unknown fields.
func JSON(c *Codec, name string, isZero bool, v any) {
	c.member(name, isZero, func() { c.writeJSON(v) }, func() {
		c.readJSON(func(text []byte) error {
			strict := json.NewDecoder(bytes.NewReader(text))
			strict.DisallowUnknownFields()
			return strict.Decode(v)
		})
	})
}

func (c *Codec) writeJSON(v any) {
	text, err := json.Marshal(v)
	c.fail(err)
	c.out.Raw(text)
}

func (c *Codec) readJSON(read func([]byte) error) {
	text, err := c.in.Raw()
	if err == nil {
		err = read(text)
	}
	c.fail(err)
}

// writeFields writes an object with a list of texts for each name. With nulls, a list that is
// nil is null.
func (c *Codec) writeFields(all iter.Seq2[string, []string], nulls bool) {
	c.begin()
	for name, values := range all {
		c.key(name, nulls)
		if nulls && values == nil {
			c.out.Null()
			continue
		}
		c.beginList()
		for _, value := range values {
			c.element(func() { c.writeText(value) })
		}
		c.endList()
	}
	c.end()
}

func sortedFields(header map[string][]string) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for _, name := range slices.Sorted(maps.Keys(header)) {
			if !yield(name, header[name]) {
				return
			}
		}
	}
}

// textFields reads a header for a caller that keeps its texts, but neither the map nor a list.
func (c *Codec) textFields(record bool) map[string][]string {
	if c.header == nil {
		c.header = map[string][]string{}
	}
	clear(c.header)
	return c.readFields(c.header, record)
}

func (c *Codec) readFields(header map[string][]string, record bool) map[string][]string {
	c.keys(record, func(name string) {
		if record && c.in.Next() == jx.Null {
			header[name] = nil
			c.fail(c.in.Null())
			return
		}
		values := []string{}
		c.elements(func() { values = append(values, c.readText()) })
		header[name] = values
	})
	return header
}

// dictionary completes the form of a map with string keys, which are sorted.
func (all *forms) dictionary(f *Form, t reflect.Type, of *Form) {
	f.write = func(c *Codec, v reflect.Value) {
		c.begin()
		names := v.MapKeys()
		slices.SortFunc(names, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		item := reflect.New(t.Elem()).Elem()
		for _, name := range names {
			item.Set(v.MapIndex(name))
			c.key(name.String(), all.record)
			of.write(c, item)
		}
		c.end()
	}
	f.read = func(c *Codec, v reflect.Value) {
		v.Set(reflect.MakeMap(t))
		c.keys(all.record, func(name string) {
			item := reflect.New(t.Elem()).Elem()
			of.read(c, item)
			v.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), item)
		})
	}
}

// key writes a name that is data. A record has a name that is not UTF-8 as base64 after a NUL,
// so that no bytes are lost.
func (c *Codec) key(name string, record bool) {
	switch valid := utf8.ValidString(name); {
	case record && (!valid || strings.HasPrefix(name, "\x00")):
		name = "\x00" + base64.StdEncoding.EncodeToString([]byte(name))
	case !valid:
		c.Failf("name %q is not UTF-8", name)
	}
	c.name(name)
}

// keys reads an object whose names are data; read must read the value of each.
func (c *Codec) keys(record bool, read func(name string)) {
	c.object(func(key []byte) {
		name := string(key)
		if coded, ok := strings.CutPrefix(name, "\x00"); ok && record {
			raw, err := base64.StdEncoding.DecodeString(coded)
			c.fail(err)
			name = string(raw)
		}
		read(name)
	})
}

func writeDuration(c *Codec, v reflect.Value) { c.out.Str(time.Duration(v.Int()).String()) }

func readDuration(c *Codec, v reflect.Value) {
	length, err := time.ParseDuration(c.readText())
	c.fail(err)
	v.SetInt(int64(length))
}

// writeMarshaled writes a value by its MarshalText, such as a formula.
func writeMarshaled(c *Codec, v reflect.Value) {
	text, err := as[encoding.TextMarshaler](v).MarshalText()
	c.fail(err)
	c.writeText(string(text))
}

func readMarshaled(c *Codec, v reflect.Value) {
	if text := c.readBytes(); c.err == nil {
		c.fail(as[encoding.TextUnmarshaler](v).UnmarshalText(text))
	}
}

// writeText keeps all bytes: JSON would replace those that are not UTF-8.
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
		c.object(func(key []byte) {
			if string(key) != "base64" || raw != nil {
				c.unknown(key)
				return
			}
			text, err := c.in.StrBytes()
			c.fail(c.explain(err))
			raw, err = base64.StdEncoding.AppendDecode([]byte{}, text)
			c.fail(err)
			c.within("base64")
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
	return append([]byte{}, text...)
}

func (c *Codec) writeInt(n int64) { c.out.Buf = strconv.AppendInt(c.out.Buf, n, 10) }

func readBool(c *Codec, v reflect.Value) {
	b, err := c.in.Bool()
	c.fail(c.explain(err))
	v.SetBool(b)
}

func readInt(c *Codec, v reflect.Value) {
	n := c.number()
	x, err := strconv.ParseInt(string(n), 10, 64)
	c.checkNumber(n, err == nil && !v.OverflowInt(x))
	v.SetInt(x)
}

func readUint(c *Codec, v reflect.Value) {
	n := c.number()
	x, err := strconv.ParseUint(string(n), 10, 64)
	c.checkNumber(n, err == nil)
	v.SetUint(x)
}

func (c *Codec) checkNumber(n jx.Num, ok bool) {
	if !ok {
		c.Failf("number %.40s: must be a whole number of this size", n)
	}
}

// readFloat reads a float32 directly, because rounding first to a float64 and then to a
// float32 could give another value.
func readFloat(c *Codec, v reflect.Value) {
	var x float64
	var err error
	if v.Kind() == reflect.Float32 {
		var short float32
		short, err = c.in.Float32()
		x = float64(short)
	} else {
		x, err = c.in.Float64()
	}
	c.fail(c.explain(err))
	v.SetFloat(x)
}

// number reads a number; its text is valid until the next read.
func (c *Codec) number() jx.Num {
	if c.err != nil {
		return jx.Num("0")
	}
	if c.in.Next() == jx.Invalid { // the error of Num does not have the place
		c.fail(c.explain(c.in.Skip()))
		return jx.Num("0")
	}
	n, err := c.in.Num()
	if err == nil && n.Str() {
		err = fmt.Errorf("text %.40s: must be a number", n)
	}
	if err != nil {
		c.fail(c.explain(err))
		return jx.Num("0")
	}
	return n
}

// writeTime writes Unix ms, with a fraction for times more precise than 1 ms.
func (c *Codec) writeTime(t time.Time) {
	t = t.Add(c.shift)
	c.writeInt(t.UnixMilli())
	if rest := t.Nanosecond() % int(time.Millisecond); rest > 0 {
		c.out.RawStr(strings.TrimRight(fmt.Sprintf(".%06d", rest), "0"))
	}
}

// readTime also reads what records of earlier versions have for such times: a list of Unix s
// and ns.
func (c *Codec) readTime() time.Time {
	if c.err == nil && c.in.Next() == jx.Array {
		var parts []int64
		c.elements(func() {
			n, err := c.in.Int64()
			c.fail(c.explain(err))
			parts = append(parts, n)
		})
		if len(parts) == 2 {
			return time.Unix(parts[0], parts[1])
		}
		c.Failf("a time: must be Unix ms, or a list of Unix s and ns")
	}
	n := c.number()
	whole, fraction, _ := bytes.Cut(n, []byte("."))
	ms, err := strconv.ParseInt(string(whole), 10, 64)
	rest := int64(0)
	if err == nil && len(fraction) > 0 {
		rest, err = strconv.ParseInt((string(fraction) + "000000")[:6], 10, 32)
	}
	if err != nil || len(fraction) > 6 {
		c.Failf("time %.40s: must be Unix ms, with at most six decimals", n)
		return time.Time{}
	}
	return time.UnixMilli(ms).Add(time.Duration(rest))
}

// writeUnixTime writes a number of units since 1970. A shift is rounded down to whole units.
func (c *Codec) writeUnixTime(n int64, unit time.Duration) {
	by := c.shift / unit
	if c.shift%unit < 0 {
		by--
	}
	c.writeInt(n + int64(by))
}
