// Package clip shortens texts for people.
package clip

import "strings"

// Text shortens a text to at most most bytes, at a character boundary, and marks the cut.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
