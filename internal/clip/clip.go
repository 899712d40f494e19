// Package clip writes short texts for people.
package clip

import (
	"fmt"
	"strings"
)

// Text shortens a text to at most most bytes, at a character boundary, and marks the cut.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Counted is a number and what is counted.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
