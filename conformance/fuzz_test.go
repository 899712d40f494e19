package conformance

import (
	"strings"
	"testing"
)

func FuzzTags(f *testing.F) {
	for _, seed := range []string{"", "@a and not @b", "(@a or @b) and @c", "not not @a", "((", "@a @b", strings.Repeat("(", 2000)} { //nolint:dupword // tags, not words
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := parseTags(text); err == nil {
			_ = e([]string{"@a", "@b"})
		}
	})
}
