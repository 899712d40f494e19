package state

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestSharingTakesEveryField changes every field of Options, and every field of what it
// points to, in turn: if equal misses a field, a message gets the value of another message.
func TestSharingTakesEveryField(t *testing.T) {
	t.Parallel()
	for _, path := range fieldPaths(reflect.TypeFor[Options](), nil) {
		t.Run(path.Name, func(t *testing.T) {
			t.Parallel()
			var in OptionInterner
			with := func(n int) Options {
				var o Options
				path.set(t, reflect.ValueOf(&o).Elem(), n)
				return o
			}
			values := []Options{{}, with(1), with(2)}
			shared := make([]*Options, len(values))
			for i, o := range values {
				if shared[i] = in.Intern(&o); !reflect.DeepEqual(*shared[i], o) {
					t.Errorf("value %d: got %+v, want %+v", i, *shared[i], o)
				}
			}
			for i, o := range []Options{{}, with(1), with(2)} {
				if in.Intern(&o) != shared[i] {
					t.Errorf("value %d, the second time, is not shared", i)
				}
			}
			path.set(t, reflect.ValueOf(&values[1]).Elem(), 2) // now equal to another value
			if in.Intern(&values[1]) != shared[2] {
				t.Error("a value that was changed to another is not shared with it")
			}
		})
	}
}

// TestSharedOptionsAreBounded checks that the interner does not grow without limit.
func TestSharedOptionsAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("large options share nothing", func(t *testing.T) {
		t.Parallel()
		var in OptionInterner
		in.Intern(&Options{DedupID: strings.Repeat("x", maxSharedOptions+1)})
		expect.Equal(t, "number of values", len(in.known), 0)
	})
	t.Run("many different values empty the interner", func(t *testing.T) {
		t.Parallel()
		var in OptionInterner
		for n := range 3 * maxInterned {
			in.Intern(&Options{DedupID: strconv.Itoa(n)})
			if len(in.known) > maxInterned {
				t.Fatalf("%d values are known", len(in.known))
			}
		}
	})
}

// fieldPath is a field of Options, or of a struct that a field points to.
type fieldPath struct {
	Name  string
	index []int
}

// fieldPaths returns the fields of a struct and of the structs that it points to. It does
// not follow the options of a callback.
func fieldPaths(typ reflect.Type, within []int) (paths []fieldPath) {
	for f := range typ.Fields() {
		index := append(slices.Clone(within), f.Index...)
		paths = append(paths, fieldPath{f.Name, index})
		if f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct || f.Type == reflect.TypeFor[*Formula]() {
			continue
		}
		for _, p := range fieldPaths(f.Type.Elem(), index) {
			paths = append(paths, fieldPath{f.Name + "." + p.Name, p.index})
		}
	}
	return paths
}

// set sets the field to its n-th test value.
func (p fieldPath) set(t *testing.T, v reflect.Value, n int) {
	t.Helper()
	for _, i := range p.index {
		if v.Kind() == reflect.Pointer {
			fresh := reflect.New(v.Type().Elem())
			if !v.IsNil() {
				fresh.Elem().Set(v.Elem())
			}
			v.Set(fresh)
			v = fresh.Elem()
		}
		v = v.Field(i)
	}
	v.Set(filled(t, v.Type(), n))
}

// TestMergedOptionsKeepEveryField checks that a field set on one side only is in the merged
// options.
func TestMergedOptionsKeepEveryField(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[Options]().Fields() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			var o Options
			reflect.ValueOf(&o).Elem().FieldByIndex(f.Index).Set(filled(t, f.Type, 1))
			for name, merged := range map[string]Options{"request": o.Over(Options{}), "default": Options{}.Over(o)} {
				if !reflect.DeepEqual(merged, o) {
					t.Errorf("set by the %s: got %+v, want %+v", name, merged, o)
				}
			}
		})
	}
}

// filled returns a value of a type that is not its zero value; n chooses between different
// values.
func filled(t *testing.T, typ reflect.Type, n int) reflect.Value {
	v := reflect.New(typ).Elem()
	switch {
	case typ == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.UnixMilli(int64(n))))
	case typ.Kind() == reflect.String:
		v.SetString("value"[:n])
	case typ.Kind() == reflect.Bool:
		v.SetBool(n == 1)
	case v.CanInt():
		v.SetInt(int64(n))
	case typ == reflect.TypeFor[*Formula]():
		f, err := ParseFormula(strconv.Itoa(n))
		expect.NoError(t, err)
		v.Set(reflect.ValueOf(f))
	case typ.Kind() == reflect.Struct:
		v.Field(0).Set(filled(t, typ.Field(0).Type, n))
	case typ.Kind() == reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		if v.Elem().CanInt() {
			v.Elem().SetInt(int64(n - 1)) // 0 differs from nil
		} else {
			v.Elem().Set(filled(t, typ.Elem(), n))
		}
	case typ.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(typ, 1, 1))
		v.Index(0).Set(filled(t, typ.Elem(), n))
	case typ.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(filled(t, typ.Key(), n), filled(t, typ.Elem(), n))
	default:
		t.Fatalf("type %s: this test has no value of it; add one", typ)
	}
	return v
}
