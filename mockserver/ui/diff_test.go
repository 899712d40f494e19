package ui_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/mockserver/ui"
)

func TestLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second string
		want          []ui.DiffLine
	}{
		"equal texts":                 {"a\nb", "a\nb", nil},
		"a line that was replaced":    {"a\nb\nc", "a\nx\nc", []ui.DiffLine{{"same", "a"}, {"del", "b"}, {"add", "x"}, {"same", "c"}}},
		"a text and an empty one":     {"a", "", []ui.DiffLine{{"del", "a"}}},
		"an empty text and another":   {"", "a", []ui.DiffLine{{"add", "a"}}},
		"lines that look like a diff": {"-a\n+b", "+b", []ui.DiffLine{{"del", "-a"}, {"same", "+b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, ui.DiffLines(c.first, c.second)); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("lines far from a difference are left out", func(t *testing.T) {
		t.Parallel()
		far := ""
		for i := range 50 {
			far += fmt.Sprintf("line %d\n", i)
		}
		got := ui.DiffLines("a\n"+far+"b\n", "x\n"+far+"y\n")
		if !slices.Contains(got, ui.DiffLine{Kind: "skip", Text: "…"}) {
			t.Errorf("got no line of kind skip: %v", got)
		}
		if len(got) > 20 {
			t.Errorf("lines: got %d, want at most 20", len(got))
		}
	})
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	different, same := ui.DiffHeaders(map[string][]string{"A": {"1"}, "B": {"x", "y"}}, map[string][]string{"A": {"2"}, "B": {"x", "y"}, "C": {"3"}})
	if d := cmp.Diff([]ui.DiffPair{{Name: "A", First: "1", Second: "2"}, {Name: "C", Second: "3"}}, different); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]ui.DiffPair{{Name: "B", First: "x, y", Second: "x, y"}}, same); d != "" {
		t.Error(d)
	}
}
