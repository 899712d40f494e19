package codec

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"iter"
	"net/textproto"
	"reflect"
	"sync"
	"time"

	"github.com/go-faster/jx"
)

// Form writes and reads the values of a type. It follows from the type, and is made once.
// Values are addressable.
type Form struct {
	write func(*Codec, reflect.Value)
	read  func(*Codec, reflect.Value)
	empty func(reflect.Value) bool // a member with this value is left out

	members  []member // of a struct
	embedded []embedded
}

// forms has the forms of one kind of text.
type forms struct {
	record bool // the body of a record, otherwise a document
	mu     sync.Mutex
	known  map[reflect.Type]*Form
}

var (
	documents = &forms{known: map[reflect.Type]*Form{}}
	records   = &forms{known: map[reflect.Type]*Form{}, record: true}
)

// RecordOf returns the form of a type in the body of a record.
func RecordOf(t reflect.Type) *Form { return records.of(t) }

// Encode returns the record of the value that v points to.
func (f *Form) Encode(v any) []byte {
	c := idle.Get().(*Codec) //nolint:forcetypeassert // it has nothing else
	defer c.free()
	f.write(c, reflect.ValueOf(v).Elem())
	return bytes.Clone(c.out.Buf)
}

// Decode reads the output of Encode into the value that v points to.
func (f *Form) Decode(body []byte, v any) error {
	c := idle.Get().(*Codec) //nolint:forcetypeassert // it has nothing else
	defer c.free()
	c.in.ResetBytes(body)
	f.read(c, reflect.ValueOf(v).Elem())
	return c.err
}

// idle has the codecs of records, because a record is small and a codec is not.
var idle = sync.Pool{New: func() any { return &Codec{in: jx.DecodeBytes(nil)} }}

func (c *Codec) free() {
	to := c.out.Buf[:0]
	if cap(to) > flushAt {
		to = nil
	}
	*c = Codec{in: c.in, out: jx.Writer{Buf: to}, header: c.header}
	idle.Put(c)
}

// Member writes or reads a member of the current object, as the form of its type.
func Member[T any](c *Codec, name string, v *T) {
	f, value := documents.of(reflect.TypeFor[T]()), reflect.ValueOf(v).Elem()
	c.member(name, f.empty(value), func() { f.write(c, value) }, func() { f.read(c, value) })
}

// Members writes or reads the fields of a struct as members of the current object.
func Members[T any](c *Codec, v *T) {
	f, value := documents.of(reflect.TypeFor[T]()), reflect.ValueOf(v).Elem()
	if c.Writing() {
		f.writeMembers(c, value)
	} else {
		f.readMembers(c, value)
	}
}

func (all *forms) of(t reflect.Type) *Form {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.form(t)
}

// The types that have a form other than that of their kind.
type (
	// fields is a header that is no map.
	fields interface {
		Fields() iter.Seq2[string, []string]
		SetFields(map[string][]string)
	}
	// membered is an object that writes or reads its members itself.
	membered interface{ Members(c *Codec) }
	// timestamp is a time in less memory.
	timestamp interface {
		Time() time.Time
		SetTime(time.Time)
	}
)

// form returns the form of a type. It is registered before it is complete, because a type
// may contain itself.
func (all *forms) form(t reflect.Type) *Form {
	if f := all.known[t]; f != nil {
		return f
	}
	f := &Form{empty: reflect.Value.IsZero}
	all.known[t] = f
	is := func(i reflect.Type) bool { return reflect.PointerTo(t).Implements(i) }
	switch {
	case t == reflect.TypeFor[time.Time]():
		f.write = func(c *Codec, v reflect.Value) { c.writeTime(*as[*time.Time](v)) }
		f.read = func(c *Codec, v reflect.Value) { *as[*time.Time](v) = c.readTime() }
		if !all.record {
			f.empty = func(v reflect.Value) bool { return as[*time.Time](v).IsZero() }
		}
	case is(reflect.TypeFor[timestamp]()):
		f.write = func(c *Codec, v reflect.Value) { c.writeTime(as[timestamp](v).Time()) }
		f.read = func(c *Codec, v reflect.Value) { as[timestamp](v).SetTime(c.readTime()) }
	case is(reflect.TypeFor[membered]()):
		f.write = func(c *Codec, v reflect.Value) { c.value(as[membered](v).Members) }
		f.read = f.write
	case t == reflect.TypeFor[time.Duration]():
		f.write, f.read = writeDuration, readDuration
	case is(reflect.TypeFor[json.Unmarshaler]()) && t.Kind() == reflect.Struct:
		f.write = func(c *Codec, v reflect.Value) { c.writeJSON(v.Addr().Interface()) }
		f.read = func(c *Codec, v reflect.Value) { c.readJSON(as[json.Unmarshaler](v).UnmarshalJSON) }
	case is(reflect.TypeFor[fields]()):
		f.write = func(c *Codec, v reflect.Value) { c.writeFields(as[fields](v).Fields(), all.record) }
		f.read = func(c *Codec, v reflect.Value) { as[fields](v).SetFields(c.textFields(all.record)) }
	case is(reflect.TypeFor[encoding.TextUnmarshaler]()):
		f.write, f.read = writeMarshaled, readMarshaled
	case t == reflect.TypeFor[textproto.MIMEHeader]():
		f.write = func(c *Codec, v reflect.Value) {
			c.writeFields(sortedFields(*as[*textproto.MIMEHeader](v)), all.record)
		}
		f.read = func(c *Codec, v reflect.Value) {
			*as[*textproto.MIMEHeader](v) = c.readFields(map[string][]string{}, all.record)
		}
		all.container(f)
	default:
		all.plain(f, t)
	}
	return f
}

// as returns a pointer to a value as a T; its form is chosen by type.
func as[T any](v reflect.Value) T { return v.Addr().Interface().(T) } //nolint:forcetypeassert // see above

// plain completes the form of a type that follows from its kind.
func (all *forms) plain(f *Form, t reflect.Type) {
	switch t.Kind() {
	case reflect.Bool:
		f.write, f.read = func(c *Codec, v reflect.Value) { c.out.Bool(v.Bool()) }, readBool
		f.empty = func(v reflect.Value) bool { return !v.Bool() }
	case reflect.Int, reflect.Int32, reflect.Int64:
		f.write, f.read = func(c *Codec, v reflect.Value) { c.writeInt(v.Int()) }, readInt
		f.empty = func(v reflect.Value) bool { return v.Int() == 0 }
	case reflect.Uint64:
		f.write, f.read = func(c *Codec, v reflect.Value) { c.out.UInt64(v.Uint()) }, readUint
	case reflect.Float32, reflect.Float64:
		f.write, f.read = func(c *Codec, v reflect.Value) { c.out.Float(v.Float(), t.Bits()) }, readFloat
	case reflect.String:
		f.write = func(c *Codec, v reflect.Value) { c.writeText(v.String()) }
		f.read = func(c *Codec, v reflect.Value) { v.SetString(c.readText()) }
		f.empty = func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Pointer:
		of := all.form(t.Elem())
		f.empty = reflect.Value.IsNil
		f.write = func(c *Codec, v reflect.Value) { of.write(c, v.Elem()) }
		f.read = func(c *Codec, v reflect.Value) {
			v.Set(reflect.New(t.Elem()))
			of.read(c, v.Elem())
		}
		all.nullable(f)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			f.write = func(c *Codec, v reflect.Value) { c.writeBytes(v.Bytes()) }
			f.read = func(c *Codec, v reflect.Value) { v.SetBytes(c.readBytes()) }
		} else {
			list(f, t, all.form(t.Elem()))
		}
		all.container(f)
	case reflect.Map:
		all.dictionary(f, t, all.form(t.Elem()))
		all.container(f)
	case reflect.Struct:
		all.object(f, t)
	default:
		panic(fmt.Sprintf("codec: %s has no form", t))
	}
}

// container completes the form of a list or map: a document leaves out an empty one, and a
// record distinguishes it from nil, as commands do.
func (all *forms) container(f *Form) {
	if !all.record {
		f.empty = func(v reflect.Value) bool { return v.Len() == 0 }
	}
	all.nullable(f)
}

// nullable makes a record have null for nil.
func (all *forms) nullable(f *Form) {
	if !all.record {
		return
	}
	write, read := f.write, f.read
	f.write = func(c *Codec, v reflect.Value) {
		if v.IsNil() {
			c.out.Null()
		} else {
			write(c, v)
		}
	}
	f.read = func(c *Codec, v reflect.Value) {
		if c.err == nil && c.in.Next() == jx.Null {
			c.fail(c.in.Null())
		} else {
			read(c, v)
		}
	}
}

func list(f *Form, t reflect.Type, of *Form) {
	f.write = func(c *Codec, v reflect.Value) {
		c.beginList()
		for i := range v.Len() {
			c.element(func() { of.write(c, v.Index(i)) })
		}
		c.endList()
	}
	f.read = func(c *Codec, v reflect.Value) {
		v.Set(reflect.MakeSlice(t, 0, 0))
		c.elements(func() {
			n := v.Len()
			v.Grow(1)
			v.SetLen(n + 1)
			of.read(c, v.Index(n))
		})
	}
}
