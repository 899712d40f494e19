package vector_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

var start = time.UnixMilli(1_700_000_000_000).UTC()

// plane returns an index of vectors with two values.
func plane(t *testing.T, vectors ...vector.Vector) *vector.Index {
	t.Helper()
	x := vector.New(vector.Config{Name: "plane", Type: vector.Dense, Dimension: 2, Similarity: vector.Cosine})
	expect.NoError(t, x.Check(vectors))
	x.Upsert("", vectors, start, 0)
	return x
}

func TestAnIndexKeepsItsOwnCopyOfAVector(t *testing.T) {
	t.Parallel()
	given := []vector.Vector{{ID: "a", Sparse: &vector.SparseVector{Indices: []int32{1, 1}, Values: []float32{1, 2}}}}
	x := vector.New(vector.Config{Name: "words", Type: vector.Sparse})
	x.Upsert("", given, start, 0)
	if got := given[0].Sparse.Indices; !slices.Equal(got, []int32{1, 1}) {
		t.Errorf("indices of the request after the upsert: got %v, want [1 1]", got)
	}
	given[0].ID = "b"
	if got := x.Fetch("", []string{"a"}, "")[0]; got == nil || got.ID != "a" {
		t.Errorf("stored vector after a change of the request: got %+v, want id a", got)
	}
}

func TestAFilterAsJSON(t *testing.T) {
	t.Parallel()
	filter, err := vector.ParseFilter("people > 3")
	expect.NoError(t, err)
	query := vector.Query{TopK: 3, Filter: filter}
	text, err := json.Marshal(query)
	expect.NoError(t, err)
	t.Run("it holds for the same metadata when it is read back", func(t *testing.T) {
		t.Parallel()
		var back vector.Query
		expect.NoError(t, json.Unmarshal(text, &back))
		for metadata, want := range map[string]bool{`{"people":4}`: true, `{"people":3}`: false} {
			if got := back.Filter.Holds([]byte(metadata)); got != want {
				t.Errorf("%s: got %t, want %t", metadata, got, want)
			}
		}
	})
	t.Run("an invalid one is refused", func(t *testing.T) {
		t.Parallel()
		if err := json.Unmarshal([]byte(`{"Filter":"people >"}`), &vector.Query{}); !errors.Is(err, refusal.Invalid) {
			t.Errorf("got %v, want %v", err, refusal.Invalid)
		}
	})
}

// TestTheBytesOfAnIndex compares the bytes counted at each change with those counted by loading.
func TestTheBytesOfAnIndex(t *testing.T) {
	t.Parallel()
	some := []vector.Vector{{ID: "a", Values: []float32{1, 2}}, {ID: "b", Values: []float32{3, 4}, Metadata: json.RawMessage(`{"n":1}`)}}
	for name, change := range map[string]func(*vector.Index){
		"after an upsert":               func(*vector.Index) {},
		"after an upsert of a known id": func(x *vector.Index) { x.Upsert("", some[:1], start, time.Minute) },
		"after an update": func(x *vector.Index) {
			_, _ = x.Update("", vector.Vector{ID: "a", Metadata: some[1].Metadata}, false, start, 0)
		},
		"after a deletion":             func(x *vector.Index) { x.Delete("", []string{"a"}, "") },
		"after a deletion by metadata": func(x *vector.Index) { x.DeleteWhere("", vector.Filter{}) },
		"after a reset":                func(x *vector.Index) { x.Reset("", true) },
		"with a second namespace":      func(x *vector.Index) { x.Upsert("two", some, start, 0) },
		"after a namespace is deleted": func(x *vector.Index) { x.Upsert("two", some, start, 0); _ = x.DeleteNamespace("two") },
		"after a namespace replaced others": func(x *vector.Index) {
			x.Upsert("two", some, start, 0)
			x.Upsert("three", some[:1], start, 0)
			_, _ = x.RenameNamespace("three", "two", true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := plane(t, some...)
			change(x)
			loaded, err := vector.Load(new(x.Save(start)))
			expect.NoError(t, err)
			if got, want := x.Bytes(), loaded.Bytes(); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

func TestASavedIndexAnswersAsBeforeAPendingChange(t *testing.T) {
	t.Parallel()
	x := plane(t, vector.Vector{ID: "a", Values: []float32{1, 2}, Metadata: json.RawMessage(`1`)})
	x.Upsert("", []vector.Vector{{ID: "a", Values: []float32{1, 2}, Metadata: json.RawMessage(`2`)}}, start, time.Minute)
	var text bytes.Buffer
	saved := x.Save(start)
	w := codec.NewWriter(&text)
	w.Document(func(c *codec.Codec) { codec.Members(c, &saved) })
	expect.NoError(t, w.Close())
	var back vector.Saved
	r := codec.NewReader(&text)
	r.Document(func(c *codec.Codec) { codec.Members(c, &back) })
	expect.NoError(t, r.Close())
	loaded, err := vector.Load(&back)
	expect.NoError(t, err)
	for after, want := range map[time.Duration]string{0: "1", time.Minute - 1: "1", time.Minute: "2"} {
		found, err := loaded.Query("", vector.Query{Values: []float32{1, 2}, TopK: 1}, start.Add(after))
		if err != nil || len(found) != 1 || string(found[0].Metadata) != want {
			t.Errorf("after %v: got %v, %v, want metadata %s", after, found, err, want)
		}
	}
}

func TestASavedIndexThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, spaces := range map[string]string{
		`vector index "x": the default namespace is missing`:                                   ``,
		`vector index "x": namespace "": duplicate`:                                            `{},{}`,
		`vector index "x": namespace "": vector "a": duplicate`:                                `{"vectors":[{"id":"a","values":[1,2]},{"id":"a","values":[1,2]}]}`,
		`vector index "x": namespace "": vector "b": pending, but not found`:                   `{"pending":["b"]}`,
		`vector index "x": namespace "": vector "c": Invalid vector dimension: 1, expected: 2`: `{"vectors":[{"id":"c","values":[1]}]}`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			var saved vector.Saved
			c := codec.NewReader(strings.NewReader(`{"name":"x","type":"DENSE","dimension":2,"namespaces":[` + spaces + `]}`))
			c.Document(func(c *codec.Codec) { codec.Members(c, &saved) })
			expect.NoError(t, c.Close())
			_, err := vector.Load(&saved)
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestANamespaceMayGetItsOwnName(t *testing.T) {
	t.Parallel()
	x := plane(t)
	x.Upsert("one", []vector.Vector{{ID: "a", Values: []float32{1, 2}}}, start, 0)
	if renamed, err := x.RenameNamespace("one", "one", true); !renamed || err != nil {
		t.Errorf("got %v, %v, want true", renamed, err)
	}
	if got, want := x.Namespaces(), []string{"", "one"}; !slices.Equal(got, want) {
		t.Errorf("namespaces %q, want %q", got, want)
	}
}
