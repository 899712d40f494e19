package engine

import (
	"slices"
	"testing"
	"time"
)

// TestTheCriticalPath checks the path from the end back through the spans that others waited for.
func TestTheCriticalPath(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }
	span := func(from, to int) Span { return Span{From: at(from), To: at(to)} }
	open := func(from int) Span { return Span{From: at(from)} }
	kept := Span{From: at(0), To: at(0), Kept: true}
	for name, c := range map[string]struct {
		spans []Span
		want  []int
	}{
		"no span":                              {nil, nil},
		"one after the other":                  {[]Span{span(0, 1), span(1, 3), span(3, 4)}, []int{0, 1, 2}},
		"the longer of two branches":           {[]Span{span(0, 1), span(1, 5), span(1, 3), span(5, 6)}, []int{0, 1, 3}},
		"the branch that continues":            {[]Span{span(0, 1), span(1, 5), open(1)}, []int{0, 2}},
		"a gap":                                {[]Span{span(0, 1), span(4, 5)}, []int{0, 1}},
		"kept steps took no time":              {[]Span{kept, kept, span(0, 2)}, []int{2}},
		"a branch that no step waits for":      {[]Span{span(0, 1), span(1, 2), span(1, 9)}, []int{0, 2}},
		"steps that took no time on the clock": {[]Span{span(0, 0), span(0, 0), span(0, 0)}, []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			markCritical(c.spans)
			var got []int
			for i := range c.spans {
				if c.spans[i].Decides {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("critical spans: got %v, want %v", got, c.want)
			}
		})
	}
}
