package engine

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each field of Options is set to two values in turn. A field that sharing
// forgets would come back with the value of other options.
func TestSharedOptionsKeepEveryField(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[Options]().Fields() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			var in optionInterner
			in.share(Options{})
			for n := range 2 {
				var o Options
				reflect.ValueOf(&o).Elem().FieldByIndex(f.Index).Set(filled(t, f.Type, n+1))
				got := reflect.ValueOf(*in.share(o)).FieldByIndex(f.Index).Interface()
				want := reflect.ValueOf(o).FieldByIndex(f.Index).Interface()
				if !reflect.DeepEqual(got, want) {
					t.Errorf("value %d: got %v, want %v", n+1, got, want)
				}
			}
		})
	}
}

// A value is shared where it may be: a test that shares nothing proves nothing.
func TestEqualPlainOptionsAreShared(t *testing.T) {
	t.Parallel()
	var in optionInterner
	o := Options{Method: "PUT", Retries: new(2), Queue: "q"}
	again := o
	again.Retries = new(2)
	if x, y := in.share(o), in.share(again); x != y {
		t.Errorf("two values, want one: %s", cmp.Diff(x, y))
	}
}

// What only one side sets is there after merging.
func TestMergedOptionsKeepEveryField(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[Options]().Fields() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			var o Options
			reflect.ValueOf(&o).Elem().FieldByIndex(f.Index).Set(filled(t, f.Type, 1))
			for name, merged := range map[string]Options{"request": o.Over(Options{}), "default": Options{}.Over(o)} {
				if !reflect.DeepEqual(merged, o) {
					t.Errorf("set by the %s: %s", name, cmp.Diff(o, merged))
				}
			}
		})
	}
}

// filled is a value of a type that is not its zero value; n distinguishes two.
func filled(t *testing.T, typ reflect.Type, n int) reflect.Value {
	v := reflect.New(typ).Elem()
	switch {
	case typ == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.UnixMilli(int64(n))))
	case typ.Kind() == reflect.String:
		v.SetString("value"[:n])
	case typ.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(n))
	case typ.Kind() == reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		if v.Elem().CanInt() {
			v.Elem().SetInt(int64(n - 1)) // 0 differs from not set
		}
	case typ.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(typ, n, n))
	case typ.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(filled(t, typ.Key(), n), filled(t, typ.Elem(), n))
	default:
		t.Fatalf("type %s: this test has no value of it; add one", typ)
	}
	return v
}
