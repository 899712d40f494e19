package state

import (
	"slices"
	"strings"
)

// HeaderKey is equal for equal headers.
func HeaderKey(h Header) string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name)
		for _, v := range h[name] {
			b.WriteByte(0)
			b.WriteString(v)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
