package state

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine/formula"
)

// maxInterned bounds what the interners remember; then they start afresh. A
// missed share costs memory, never truth.
const maxInterned = 4096

// maxInternedBytes bounds the headers that the interner alone may keep alive.
const maxInternedBytes = 4 << 20

// HeaderInterner lets messages with equal headers share one map.
type HeaderInterner struct {
	known map[string]Header
	bytes int64
}

// Share puts an equal map in the place of h, and returns the bytes of h when it
// is the first of its kind, else 0.
func (in *HeaderInterner) Share(h *Header) int64 {
	if len(*h) == 0 {
		*h = nil
		return 0
	}
	key := HeaderKey(*h)
	if known, ok := in.known[key]; ok {
		*h = known
		return 0
	}
	bytes := HeaderBytes(*h)
	if in.known == nil || len(in.known) >= maxInterned || in.bytes > maxInternedBytes {
		in.known, in.bytes = map[string]Header{}, 0
	}
	in.known[key] = *h
	in.bytes += bytes
	return bytes
}

// maxSharedOptions is the longest canonical form, in bytes, of options that are
// shared. Larger ones are rare.
const maxSharedOptions = 1 << 10

// OptionInterner lets messages with equal options share one value.
type OptionInterner struct {
	known map[string]*Options // by canonical form
	bytes int                 // of the forms
	one   Options             // whose form is made, and
	form  []byte              // the form: here they take no memory for each message
}

// Share is o on the heap, or an equal one that is there already.
func (in *OptionInterner) Share(o Options) *Options {
	in.one = o
	in.form = appendCanonical(in.form[:0], reflect.ValueOf(&in.one).Elem())
	in.one = Options{} // it keeps nothing alive
	form := in.form
	if cap(form) > 4*maxSharedOptions {
		in.form = nil
	}
	if known := in.known[string(form)]; known != nil {
		return known
	}
	kept := o
	if len(form) > maxSharedOptions {
		return &kept
	}
	if in.known == nil || len(in.known) >= maxInterned || in.bytes > maxInternedBytes {
		in.known, in.bytes = map[string]*Options{}, 0
	}
	in.known[string(form)] = &kept
	in.bytes += len(form)
	return &kept
}

// appendCanonical appends the canonical form of a value: equal for equal values,
// different for different ones. It reads every field that there is, so that none
// can be forgotten.
func appendCanonical(b []byte, v reflect.Value) []byte {
	if v.IsZero() {
		return append(b, 0)
	}
	b = append(b, 1)
	switch v.Kind() {
	case reflect.Bool: // not zero: true
	case reflect.Int, reflect.Int64:
		b = appendNumber(b, v.Int())
	case reflect.String:
		b = appendText(b, v.String())
	case reflect.Pointer:
		b = appendCanonical(b, v.Elem())
	case reflect.Slice:
		b = appendNumber(b, int64(v.Len()))
		for i := range v.Len() {
			b = appendCanonical(b, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return cmp.Compare(x.String(), y.String()) })
		b = appendNumber(b, int64(len(keys)))
		for _, key := range keys {
			b = appendCanonical(appendText(b, key.String()), v.MapIndex(key))
		}
	case reflect.Struct:
		b = appendStruct(b, v)
	default:
		panic("options: no canonical form of " + v.Type().String())
	}
	return b
}

// appendStruct appends the form of a struct: its fields, or the one value that
// stands for them.
func appendStruct(b []byte, v reflect.Value) []byte {
	switch one := v.Addr().Interface().(type) {
	case *time.Time:
		return appendNumber(b, one.UnixNano())
	case *formula.Formula:
		return appendText(b, one.String())
	}
	for i := range v.NumField() {
		b = appendCanonical(b, v.Field(i))
	}
	return b
}

// appendText puts the length first, so that no two texts read alike in a row.
func appendText(b []byte, s string) []byte { return append(appendNumber(b, int64(len(s))), s...) }

// appendNumber ends with a blank, so that numbers in a row stay apart.
func appendNumber(b []byte, n int64) []byte { return append(strconv.AppendInt(b, n, 10), ' ') }
