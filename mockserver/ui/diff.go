package ui

import (
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// DiffLine is a line of a difference.
type DiffLine struct {
	Kind string // same, del: only in the first, add: only in the second, skip: equal lines are left out here
	Text string
}

// DiffLines returns the lines in which two texts differ, with context; nil for equal texts.
func DiffLines(first, second string) []DiffLine {
	if first == second {
		return nil
	}
	text := diff.Diff("1", []byte(ended(first)), "2", []byte(ended(second)))
	var lines []DiffLine
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		switch {
		case i < 3: // the header of the diff
		case strings.HasPrefix(line, "@@"):
			if len(lines) > 0 {
				lines = append(lines, DiffLine{"skip", "…"})
			}
		case strings.HasPrefix(line, "-"):
			lines = append(lines, DiffLine{"del", line[1:]})
		case strings.HasPrefix(line, "+"):
			lines = append(lines, DiffLine{"add", line[1:]})
		default:
			lines = append(lines, DiffLine{"same", strings.TrimPrefix(line, " ")})
		}
	}
	return lines
}

// ended adds the final newline, because the diff marks a text without one.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// DiffPair is the values of both sides under one name.
type DiffPair struct {
	Name          string
	First, Second string
}

// Same reports whether the values are equal.
func (p DiffPair) Same() bool { return p.First == p.Second }

// DiffHeaders compares two headers by name, sorted. Several values of a name are joined
// with commas.
func DiffHeaders(first, second map[string][]string) (different, same []DiffPair) {
	names := map[string][]string{}
	maps.Copy(names, first)
	maps.Copy(names, second)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p := DiffPair{name, strings.Join(first[name], ", "), strings.Join(second[name], ", ")}
		if p.Same() {
			same = append(same, p)
		} else {
			different = append(different, p)
		}
	}
	return different, same
}
