package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/vector"
)

func TestCommandsAreSortedByName(t *testing.T) {
	t.Parallel()
	if !slices.IsSortedFunc(commandTable, func(x, y kind) int { return strings.Compare(x.name, y.name) }) {
		t.Error("they are not")
	}
}

// isRecorded reports whether a record has the field; unexported ones are no part of a
// command.
func isRecorded(f reflect.StructField) bool { return f.IsExported() && f.Tag.Get("journal") != "-" }

// recordedFields compares what a record keeps.
var recordedFields = cmp.Options{
	cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := structField(p)
		return ok && !isRecorded(f)
	}, cmp.Ignore()),
	cmp.Comparer(func(x, y time.Time) bool { return x.Equal(y) && x.IsZero() == y.IsZero() }),
	cmp.Comparer(func(x, y *state.Formula) bool {
		return (x == nil) == (y == nil) && (x == nil || x.String() == y.String())
	}),
	cmp.Comparer(func(x, y vector.Filter) bool { return textOf(x) == textOf(y) }),
}

// structField is the field that a path ends with.
func structField(p cmp.Path) (f reflect.StructField, ok bool) {
	if _, ok := p.Last().(cmp.StructField); !ok {
		return f, false
	}
	return p.Index(-2).Type().FieldByName(p.Last().(cmp.StructField).Name())
}

func textOf(f vector.Filter) string {
	text, err := f.MarshalText()
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestCommandsDecodeToThemselves(t *testing.T) {
	t.Parallel()
	for _, k := range commandTable {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			if k.body == reflect.TypeFor[restore]() {
				t.Skip("its form is that of snapshots")
			}
			for seed := range uint64(200) {
				f := filler{rand.New(rand.NewPCG(seed, 1))}
				want, got := reflect.New(k.body), reflect.New(k.body)
				f.fill(want.Elem(), 0)
				body := k.encode(want.Interface())
				if err := k.decode(body, got.Interface()); err != nil {
					t.Fatalf("seed %d: %v in %s", seed, err, body)
				}
				if d := cmp.Diff(want.Interface(), got.Interface(), recordedFields); d != "" {
					t.Fatalf("seed %d: written (-), read (+) by %s:\n%s", seed, body, d)
				}
				if again := k.encode(got.Interface()); !bytes.Equal(body, again) {
					t.Fatalf("seed %d: %s, then %s", seed, body, again)
				}
			}
		})
	}
}

func TestADamagedCommandIsRefused(t *testing.T) {
	t.Parallel()
	k, ok := kindNamed("pauseFlow")
	if !ok {
		t.Fatal("pauseFlow is not a command")
	}
	for _, body := range []string{``, `{`, `[]`, `{"Key":1}`, `{"Name":"k"}`, `{"Key":{"base64":"?"}}`, `{"Key":{"hex":"00"}}`} {
		var c pauseFlow
		if err := k.decode([]byte(body), &c); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line", body, err)
		}
	}
}

// filler puts random values into the exported fields of a command.
type filler struct{ *rand.Rand }

var fillerTexts = []string{"", "a", "https://app.test/x?y=1", "caf\xe9", "\x00", "\x00\xff", "ü\u2028\"\\\n", "�"}

func (f filler) fill(v reflect.Value, depth int) {
	if formula := v.Type() == reflect.TypeFor[state.Formula](); !formula && (f.IntN(4) == 0 || depth > 7) {
		return // as it is
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf([]time.Time{time.UnixMilli(0), time.UnixMilli(f.Int64N(1 << 42)), time.Unix(f.Int64N(1<<33), f.Int64N(1e9)), time.UnixMilli(-1)}[f.IntN(4)]))
		return
	case state.Formula:
		formula, err := state.ParseFormula(fmt.Sprintf("%d * pow(2, retried)", f.IntN(9)))
		if err != nil {
			panic(err)
		}
		v.Set(reflect.ValueOf(*formula))
		return
	case state.HeaderText:
		header := state.Header{}
		f.fill(reflect.ValueOf(&header).Elem(), depth)
		v.Set(reflect.ValueOf(state.TextOf(header)))
		return
	case vector.Filter:
		filter, err := vector.ParseFilter(fmt.Sprintf("a = %d OR b GLOB 'x*'", f.IntN(9)))
		if err != nil {
			panic(err)
		}
		v.Set(reflect.ValueOf(filter))
		return
	}
	f.fillPlain(v, depth)
}

func (f filler) fillPlain(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{-1, 1, int64(f.Int32()), -int64(f.Int32())}[f.IntN(4)])
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(f.Uint64() & (1<<v.Type().Bits() - 1))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(f.NormFloat64()))) // a float32 has to come back as it was
		if v.Kind() == reflect.Float64 {
			v.SetFloat(f.NormFloat64() * 1e-20)
		}
	case reflect.String:
		v.SetString(fillerTexts[f.IntN(len(fillerTexts))])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.IntN(3), 3))
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(3) {
			key, item := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(item, depth+1)
			v.SetMapIndex(key, item)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isRecorded(v.Type().Field(i)) {
				f.fill(v.Field(i), depth+1)
			}
		}
	default:
		panic(v.Type().String())
	}
}
