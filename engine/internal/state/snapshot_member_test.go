package state

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestASnapshotHasEveryExportedField fills, writes, reads and compares every exported field
// of every type of the state, so that a new field cannot be missing in the file.
func TestASnapshotHasEveryExportedField(t *testing.T) {
	t.Parallel()
	t.Run("message", mapped[Message])
	t.Run("step item", mapped[StepItem])
	t.Run("queue", mapped[Queue])
	t.Run("flow-control key", mapped[FlowKey])
	t.Run("group", mapped[Group])
	t.Run("schedule", mapped[Schedule])
	t.Run("run", mapped[Run])
	t.Run("waiter", mapped[Waiter])
	t.Run("log detail", mapped[LogDetail])
	t.Run("family", mapped[Family])
	t.Run("deduplication mark", mapped[DedupMark])
	t.Run("minute", mapped[usage.Minute])
	t.Run("search index", mapped[search.Index])
	t.Run("vector index", mapped[vector.Config])
	t.Run("DLQ entry", mapped[DLQEntry])
}

// mapped fills a value of the type, writes and reads it, and compares the result.
func mapped[T any](t *testing.T) {
	t.Parallel()
	var want, got T
	n := 0
	fill(reflect.ValueOf(&want).Elem(), &n, 0)
	var text bytes.Buffer
	out := codec.NewWriter(&text)
	out.Document(func(c *codec.Codec) { codec.Members(c, &want) })
	expect.NoError(t, out.Close())
	in := codec.NewReader(bytes.NewReader(text.Bytes()))
	in.Document(func(c *codec.Codec) { codec.Members(c, &got) })
	if err := in.Close(); err != nil {
		t.Fatalf("%v in %s", err, text.Bytes())
	}
	apart := cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := fieldAt(p)
		return ok && !isSaved(f)
	}, cmp.Ignore())
	left := cmp.FilterPath(func(p cmp.Path) bool { return typeless(p) == "Waiter.RunRef.URL" }, cmp.Ignore()) // it is in the run
	if d := cmp.Diff(want, got, apart, left, cmp.Comparer(sameFormula), cmpopts.EquateEmpty(), cmp.Comparer(time.Time.Equal)); d != "" {
		t.Errorf("written (-), read (+) by %s:\n%s", text.Bytes(), d)
	}
}

// isSaved reports whether a snapshot has the field unchanged.
func isSaved(f reflect.StructField) bool {
	tag := f.Tag.Get("saved")
	return f.IsExported() && tag != "no" && tag != "apart"
}

// fieldAt returns the field at the end of a path.
func fieldAt(p cmp.Path) (f reflect.StructField, ok bool) {
	if _, ok := p.Last().(cmp.StructField); !ok {
		return f, false
	}
	return p.Index(-2).Type().FieldByName(p.Last().(cmp.StructField).Name())
}

// typeless returns a path without types, such as Waiter.RunRef.URL.
func typeless(p cmp.Path) string {
	var names []string
	for _, step := range p {
		if field, ok := step.(cmp.StructField); ok {
			names = append(names, field.Name())
		} else if len(names) == 0 && step.Type().Name() != "" {
			names = append(names, step.Type().Name())
		}
	}
	return strings.Join(names, ".")
}

func sameFormula(x, y *Formula) bool {
	return (x == nil) == (y == nil) && (x == nil || x.String() == y.String())
}

// fill sets exported fields to distinct values that are not zero.
func fill(v reflect.Value, n *int, depth int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.UnixMilli(int64(1_800_000_000_000 + *n))))
		return
	case HeaderText:
		v.Set(reflect.ValueOf(TextOf(Header{fmt.Sprint("Name ", *n): {"a", ""}, "None": {}})))
		return
	case HeaderPair:
		v.Set(reflect.ValueOf(PairOf(TextOf(Header{fmt.Sprint("Name ", *n): {"b"}}), TextOf(Header{"Sent": {"c", "d"}}))))
		return
	case *Formula:
		parsed, err := ParseFormula(fmt.Sprint(*n, " * retried"))
		if err != nil {
			panic(err)
		}
		v.Set(reflect.ValueOf(parsed))
		return
	case *Callback, *RunRef:
		if depth > 3 {
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if isSaved(v.Type().Field(i)) {
				fill(v.Field(i), n, depth+1)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, item := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n, depth+1)
		fill(item, n, depth+1)
		v.SetMapIndex(key, item)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(*n % 256))
	case reflect.Float32:
		v.SetFloat(float64(*n) + 0.5)
	default:
		panic("a snapshot cannot have a " + v.Type().String())
	}
}
