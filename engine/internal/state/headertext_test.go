package state_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestAHeaderAsATextIsTheSameHeader(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]state.Header{
		"none":                  nil,
		"one":                   {"A": {"b"}},
		"several values":        {"A": {"b", "", "c"}, "": {"no name"}},
		"no value":              {"A": {}, "B": {"c"}},
		"control and Latin-1":   {"A": {"b\x00\n\xff"}},
		"long, many":            {"Long": {strings.Repeat("x", 100_000)}, "Many": make([]string, 1000), "C": {"d"}},
		"a length of two bytes": {strings.Repeat("n", 200): {strings.Repeat("v", 300)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := state.TextOf(h)
			if diff := cmp.Diff(h, text.Header()); diff != "" {
				t.Error(diff)
			}
			expect.Equal(t, "number of names", text.Len(), len(h))
			again := state.Header{}
			for name, value := range text.All() {
				again[name] = append(again[name], value)
			}
			for name, values := range h {
				if diff := cmp.Diff(len(values), len(again[name])); diff != "" {
					t.Errorf("values of %.20q: %s", name, diff)
				}
			}
			if state.TextOf(text.Header()) != text {
				t.Error("an equal header has another text")
			}
		})
	}
}
