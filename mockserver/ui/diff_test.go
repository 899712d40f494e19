package ui_test

import (
	"fmt"
	"slices"
	"strings"
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

func TestAlign(t *testing.T) {
	t.Parallel()
	many := strings.Fields(strings.Repeat("a ", 1500))
	for name, c := range map[string]struct {
		first, second []string
		want          string
	}{
		"the same steps":            {[]string{"a", "b"}, []string{"a", "b"}, "[[0 0] [1 1]]"},
		"a step only in the first":  {[]string{"a", "b", "c"}, []string{"a", "c"}, "[[0 0] [1 -1] [2 1]]"},
		"a step only in the second": {[]string{"a"}, []string{"x", "a"}, "[[-1 0] [0 1]]"},
		"another order":             {[]string{"a", "b", "c"}, []string{"a", "c", "b", "d"}, "[[0 0] [1 2] [2 1] [-1 3]]"},
		"a name twice":              {[]string{"a", "b", "a"}, []string{"b", "a"}, "[[0 1] [1 0] [2 -1]]"},
		"nothing in common":         {[]string{"a"}, []string{"b"}, "[[0 -1] [-1 0]]"},
		"no steps and one":          {nil, []string{"b"}, "[[-1 0]]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(ui.AlignSteps(c.first, c.second)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	t.Run("many equal names are paired by position", func(t *testing.T) {
		t.Parallel()
		if got := ui.AlignSteps(many, many); len(got) != 1500 || got[1499] != [2]int{1499, 1499} {
			t.Errorf("got %d pairs, the last %v, want 1500", len(got), got[len(got)-1])
		}
	})
}
