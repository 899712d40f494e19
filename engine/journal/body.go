package journal

import (
	"cmp"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

// Form writes and reads the values of a type in the body of a record. Structs are objects
// with the names of the exported fields, zero values left out; times are Unix ms, durations
// are text as in Go; text and bytes that are not UTF-8 are {"base64": "..."}, so that no
// bytes are lost. An unknown field is an error. A field with the tag `journal:"-"` is left out,
// because replay computes it from the others.
type Form struct {
	write func(*jx.Encoder, reflect.Value)
	read  func(*jx.Decoder, reflect.Value) error
}

// knownForms has the forms of all types in commands. FormOf is called only while the
// program initializes, so reading the map needs no lock.
var knownForms = map[reflect.Type]*Form{}

// Encode writes a value of the type as JSON.
func (f *Form) Encode(v any) []byte {
	var e jx.Encoder
	e.Grow(512) // enough for most commands
	f.write(&e, reflect.ValueOf(v))
	return e.Bytes()
}

// Decode reads the output of Encode; into points to a value of the type.
func (f *Form) Decode(body []byte, into any) error {
	return f.read(jx.DecodeBytes(body), reflect.ValueOf(into).Elem())
}

// FormOf returns the form of a type. It is registered before it is complete, because a type
// may contain itself.
func FormOf(t reflect.Type) *Form {
	if f := knownForms[t]; f != nil {
		return f
	}
	f := &Form{}
	knownForms[t] = f
	pointer := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[time.Time]():
		*f = Form{writeTime, readTime}
	case t == reflect.TypeFor[time.Duration]():
		*f = Form{writeDuration, readDuration}
	case pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) && t.Kind() == reflect.Struct:
		*f = Form{writeJSON, readJSON}
	case pointer.Implements(reflect.TypeFor[fields]()):
		*f = fieldsForm(FormOf(reflect.TypeFor[map[string][]string]()))
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		*f = Form{writeText, readText}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		*f = Form{writeBytes, readBytes}
	default:
		*f = plainForm(t)
	}
	return f
}

func plainForm(t reflect.Type) Form {
	switch t.Kind() {
	case reflect.Bool:
		return Form{func(e *jx.Encoder, v reflect.Value) { e.Bool(v.Bool()) }, readWith((*jx.Decoder).Bool, reflect.Value.SetBool)}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return Form{func(e *jx.Encoder, v reflect.Value) { e.Int64(v.Int()) }, readWith((*jx.Decoder).Int64, reflect.Value.SetInt)}
	case reflect.Uint64:
		return Form{func(e *jx.Encoder, v reflect.Value) { e.UInt64(v.Uint()) }, readWith((*jx.Decoder).UInt64, reflect.Value.SetUint)}
	case reflect.Float32:
		return Form{func(e *jx.Encoder, v reflect.Value) { e.Float32(float32(v.Float())) }, readFloat32}
	case reflect.Float64:
		return Form{func(e *jx.Encoder, v reflect.Value) { e.Float64(v.Float()) }, readWith((*jx.Decoder).Float64, reflect.Value.SetFloat)}
	case reflect.String:
		return Form{func(e *jx.Encoder, v reflect.Value) { writeString(e, v.String()) }, readString}
	case reflect.Pointer:
		return pointerForm(FormOf(t.Elem()))
	case reflect.Slice:
		return listForm(FormOf(t.Elem()))
	case reflect.Map:
		return mapForm(t, FormOf(t.Elem()))
	case reflect.Struct:
		return objectForm(t)
	}
	panic(fmt.Sprintf("journal: a command contains a %s, which has no form in a journal", t))
}

// readWith returns a function that reads a value by a method of the decoder.
func readWith[T any](read func(*jx.Decoder) (T, error), set func(reflect.Value, T)) func(*jx.Decoder, reflect.Value) error {
	return func(d *jx.Decoder, v reflect.Value) error {
		x, err := read(d)
		if err == nil {
			set(v, x)
		}
		return err
	}
}

// readFloat32 reads a float32 directly, because rounding first to a float64 and then to a
// float32 could give another value.
func readFloat32(d *jx.Decoder, v reflect.Value) error {
	x, err := d.Float32()
	v.SetFloat(float64(x))
	return err
}

func pointerForm(of *Form) Form {
	return Form{
		func(e *jx.Encoder, v reflect.Value) {
			if v.IsNil() {
				e.Null()
				return
			}
			of.write(e, v.Elem())
		},
		func(d *jx.Decoder, v reflect.Value) error {
			if d.Next() == jx.Null {
				return d.Null()
			}
			v.Set(reflect.New(v.Type().Elem()))
			return of.read(d, v.Elem())
		},
	}
}

// listForm distinguishes an empty list from nil, as commands do.
func listForm(of *Form) Form {
	return Form{
		func(e *jx.Encoder, v reflect.Value) {
			if v.IsNil() {
				e.Null()
				return
			}
			e.ArrStart()
			for i := range v.Len() {
				of.write(e, v.Index(i))
			}
			e.ArrEnd()
		},
		func(d *jx.Decoder, v reflect.Value) error {
			if d.Next() == jx.Null {
				return d.Null()
			}
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			return eachElement(d, func() error {
				v.Grow(1)
				v.SetLen(v.Len() + 1)
				return of.read(d, v.Index(v.Len()-1))
			})
		},
	}
}

// item is a member of a map.
type item struct {
	key   string
	value reflect.Value
}

// mapKey is a key of a map as the name of a member: one that is not UTF-8 is base64 after a NUL.
func mapKey(key string) string {
	if !utf8.ValidString(key) || strings.HasPrefix(key, "\x00") {
		return "\x00" + base64.StdEncoding.EncodeToString([]byte(key))
	}
	return key
}

// mapForm is for maps with string keys, which are sorted.
func mapForm(t reflect.Type, of *Form) Form {
	return Form{
		func(e *jx.Encoder, v reflect.Value) {
			if v.IsNil() {
				e.Null()
				return
			}
			members := make([]item, 0, v.Len())
			for all := v.MapRange(); all.Next(); {
				members = append(members, item{mapKey(all.Key().String()), all.Value()})
			}
			slices.SortFunc(members, func(a, b item) int { return strings.Compare(a.key, b.key) })
			e.ObjStart()
			for _, m := range members {
				e.FieldStart(m.key)
				of.write(e, m.value)
			}
			e.ObjEnd()
		},
		func(d *jx.Decoder, v reflect.Value) error {
			if d.Next() == jx.Null {
				return d.Null()
			}
			v.Set(reflect.MakeMap(t))
			return eachMember(d, func(name []byte) error {
				key := string(name)
				if coded, ok := strings.CutPrefix(key, "\x00"); ok {
					raw, err := base64.StdEncoding.DecodeString(coded)
					if err != nil {
						return err
					}
					key = string(raw)
				}
				item := reflect.New(t.Elem()).Elem()
				if err := of.read(d, item); err != nil {
					return err
				}
				v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), item)
				return nil
			})
		},
	}
}

// member is an exported field of a struct.
type member struct {
	name string
	at   int
	form *Form
}

// objectForm writes the fields in their order. Removing a field makes old journals
// unreadable, which the test of the golden journal detects.
func objectForm(t reflect.Type) Form {
	var members []member
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("journal") != "-" {
			members = append(members, member{f.Name, i, FormOf(f.Type)})
		}
	}
	return Form{
		func(e *jx.Encoder, v reflect.Value) {
			e.ObjStart()
			for _, m := range members {
				if field := v.Field(m.at); !field.IsZero() {
					e.FieldStart(m.name)
					m.form.write(e, field)
				}
			}
			e.ObjEnd()
		},
		func(d *jx.Decoder, v reflect.Value) error {
			return eachMember(d, func(key []byte) error {
				for _, m := range members {
					if m.name == string(key) {
						if err := m.form.read(d, v.Field(m.at)); err != nil {
							return fmt.Errorf("%s: %w", m.name, err)
						}
						return nil
					}
				}
				return fmt.Errorf("unknown member %.80q", key)
			})
		},
	}
}

// eachMember reads an object; read must read the value of each member.
func eachMember(d *jx.Decoder, read func(key []byte) error) error {
	all, err := d.ObjIter()
	for err == nil && all.Next() {
		err = read(all.Key())
	}
	return cmp.Or(err, all.Err())
}

// eachElement reads a list; read must read each element.
func eachElement(d *jx.Decoder, read func() error) error {
	all, err := d.ArrIter()
	for err == nil && all.Next() {
		err = read()
	}
	return cmp.Or(err, all.Err())
}

// base64Member is the name of the member for bytes that are not UTF-8.
const base64Member = "base64"

// writeString keeps all bytes: JSON would replace those that are not UTF-8.
func writeString(e *jx.Encoder, s string) {
	if utf8.ValidString(s) {
		e.Str(s)
		return
	}
	writeBase64(e, []byte(s))
}

func writeBase64(e *jx.Encoder, raw []byte) {
	e.ObjStart()
	e.FieldStart(base64Member)
	e.Base64(raw)
	e.ObjEnd()
}

func readRaw(d *jx.Decoder) (b []byte, err error) {
	if d.Next() == jx.String {
		return d.StrAppend([]byte{})
	}
	err = eachMember(d, func(key []byte) error {
		if string(key) != base64Member {
			return fmt.Errorf("unknown member %.80q: must be %q", key, base64Member)
		}
		b, err = d.Base64()
		return err
	})
	return b, err
}

func readString(d *jx.Decoder, v reflect.Value) error {
	b, err := readRaw(d)
	v.SetString(string(b))
	return err
}

// fields is a header that is no map. In a journal it is an object with lists of texts, as a map.
type fields interface {
	Fields() iter.Seq2[string, []string]
	SetFields(map[string][]string)
}

func fieldsForm(asMap *Form) Form {
	return Form{writeFields, func(d *jx.Decoder, v reflect.Value) error {
		var header map[string][]string
		err := asMap.read(d, reflect.ValueOf(&header).Elem())
		v.Addr().Interface().(fields).SetFields(header) //nolint:forcetypeassert // FormOf has checked it
		return err
	}}
}

func writeFields(e *jx.Encoder, v reflect.Value) {
	header := v.Interface().(interface {
		Fields() iter.Seq2[string, []string]
	}) //nolint:forcetypeassert // FormOf has checked it
	e.ObjStart()
	for name, values := range header.Fields() {
		e.FieldStart(mapKey(name))
		e.ArrStart()
		for _, value := range values {
			writeString(e, value)
		}
		e.ArrEnd()
	}
	e.ObjEnd()
}

func writeBytes(e *jx.Encoder, v reflect.Value) {
	if v.IsNil() {
		e.Null()
		return
	}
	if text := v.Bytes(); utf8.Valid(text) {
		e.ByteStr(text)
	} else {
		writeBase64(e, text)
	}
}

func readBytes(d *jx.Decoder, v reflect.Value) error {
	if d.Next() == jx.Null {
		return d.Null()
	}
	b, err := readRaw(d)
	v.SetBytes(b)
	return err
}

// writeTime writes Unix ms, or Unix s and ns for times more precise than 1 ms.
func writeTime(e *jx.Encoder, v reflect.Value) {
	t := v.Interface().(time.Time) // its form is chosen by type
	if t.Nanosecond()%1e6 == 0 {
		e.Int64(t.UnixMilli())
		return
	}
	e.ArrStart()
	e.Int64(t.Unix())
	e.Int64(int64(t.Nanosecond()))
	e.ArrEnd()
}

func readTime(d *jx.Decoder, v reflect.Value) error {
	if d.Next() == jx.Number {
		ms, err := d.Int64()
		v.Set(reflect.ValueOf(time.UnixMilli(ms)))
		return err
	}
	var parts []int64
	err := eachElement(d, func() error {
		n, err := d.Int64()
		parts = append(parts, n)
		return err
	})
	if err == nil && len(parts) != 2 {
		err = fmt.Errorf("a time: must be Unix ms, or a list of Unix s and ns")
	}
	if err == nil {
		v.Set(reflect.ValueOf(time.Unix(parts[0], parts[1])))
	}
	return err
}

func writeDuration(e *jx.Encoder, v reflect.Value) { e.Str(time.Duration(v.Int()).String()) }

func readDuration(d *jx.Decoder, v reflect.Value) error {
	text, err := d.Str()
	if err != nil {
		return err
	}
	length, err := time.ParseDuration(text)
	v.SetInt(int64(length))
	return err
}

// writeText writes a value by its MarshalText, such as a formula.
func writeText(e *jx.Encoder, v reflect.Value) {
	own, ok := reflect.TypeAssert[encoding.TextMarshaler](v)
	if !ok {
		own, ok = addressed(v).(encoding.TextMarshaler)
	}
	if !ok {
		panic(fmt.Sprintf("journal: %s reads a text and writes none", v.Type()))
	}
	text, err := own.MarshalText()
	if err != nil {
		panic(fmt.Sprintf("journal: %s: %v", v.Type(), err)) // cannot fail: it is the text that was read
	}
	writeString(e, string(text))
}

// addressed returns a pointer to a value, or to a copy of it.
func addressed(v reflect.Value) any {
	if v.CanAddr() {
		return v.Addr().Interface()
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface()
}

func readText(d *jx.Decoder, v reflect.Value) error {
	text, err := readRaw(d)
	if err != nil {
		return err
	}
	return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text) // its form is chosen by type
}

// writeJSON writes a value by its MarshalJSON.
func writeJSON(e *jx.Encoder, v reflect.Value) {
	text, err := json.Marshal(addressed(v))
	if err != nil {
		panic(fmt.Sprintf("journal: %s: %v", v.Type(), err))
	}
	e.Raw(text)
}

func readJSON(d *jx.Decoder, v reflect.Value) error {
	text, err := d.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v.Addr().Interface())
}
