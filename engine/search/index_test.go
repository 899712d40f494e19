package search_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

var start = time.UnixMilli(1_700_000_000_000).UTC()

// counter returns a generator of consecutive ids.
func counter() search.NewID {
	n := 0
	return func(prefix string) string {
		n++
		return fmt.Sprint(prefix, n)
	}
}

func TestCreatingAnIndex(t *testing.T) {
	t.Parallel()
	t.Run("an id and tokens are generated", func(t *testing.T) {
		t.Parallel()
		got, err := search.Indexes{}.Create(search.Index{Name: "docs"}, counter(), start)
		want := search.Index{ID: "1", Name: "docs", CreatedAt: start, Token: "srt_2", ReadOnlyToken: "srr_3"}
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})
	t.Run("a refused index generates nothing", func(t *testing.T) {
		t.Parallel()
		draw := func(string) string { t.Error("an id was generated"); return "" }
		_, err := search.Indexes{"a": {ID: "a"}}.Create(search.Index{ID: "a"}, draw, start)
		if !errors.Is(err, refusal.Exists) {
			t.Errorf("got %v, want %v", err, refusal.Exists)
		}
	})
}

func TestAnIndexThatWasReadIsACopy(t *testing.T) {
	t.Parallel()
	all := search.Indexes{"a": {ID: "a", Name: "docs"}}
	got, err := all.Get("a")
	expect.NoError(t, err)
	expect.NoError(t, expect.ErrorOf(all.Rename("a", "pages")))
	expect.Equal(t, "name", got.Name, "docs")
}
