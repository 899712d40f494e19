// Package clip writes short texts for people.
package clip

import (
	"fmt"
	"regexp"
	"strings"
)

// Text shortens a text to at most most bytes, at a character boundary, and marks the cut.
func Text(text string, most int) string { return Marked(text, most, "…") }

// Marked is Text with another mark.
func Marked(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + mark
}

// Sized is Text with the size of the whole text as the mark.
func Sized(text string, most int) string {
	return Marked(text, most, fmt.Sprintf("... (%d bytes)", len(text)))
}

// Line replaces each run of white space by one blank, line ends included.
func Line(text string) string { return strings.Join(strings.Fields(text), " ") }

// plainWord matches texts that need no quotes in a shell.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]*$`)

// Shell quotes a text for a shell, if it needs it.
func Shell(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Counted is a number and what is counted.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Duration formats a duration in ms with its two largest units.
func Duration(ms float64) string {
	const second, minute, hour, day = 1000, 60_000, 3_600_000, 86_400_000
	switch n := int64(min(ms, 1<<62)); { // more is no time of a clock
	case n < second:
		return fmt.Sprintf("%d ms", n)
	case n < 10*second:
		return fmt.Sprintf("%.1f s", ms/second)
	case n < minute:
		return fmt.Sprintf("%d s", n/second)
	case n < hour:
		return pair(n/minute, "m", n%minute/second, "s")
	case n < day:
		return pair(n/hour, "h", n%hour/minute, "m")
	default:
		return pair(n/day, "d", n%day/hour, "h")
	}
}

func pair(large int64, unit string, small int64, smaller string) string {
	text := fmt.Sprintf("%d %s", large, unit)
	if small > 0 {
		text += fmt.Sprintf(" %d %s", small, smaller)
	}
	return text
}
