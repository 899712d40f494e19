package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/spec/api"
)

// word has the spellings of a text to look for, with their ASCII letters in lower case.
type word []string

// newWord adds spellings in upper and lower case for non-ASCII letters.
func newWord(text string) word {
	w := word{lowerASCII(strings.ToLower(text)), lowerASCII(text), lowerASCII(strings.ToUpper(text))}
	slices.Sort(w)
	return slices.Compact(w)
}

// lowerASCII converts ASCII letters to lower case; other letters stay.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// findIn looks for the word in one text, and again after shown has masked its credentials; nil:
// it has none.
func findIn[T ~string | ~[]byte](w word, place string, text T, shown func(string) string) (Hit, bool) {
	at, length := index(w, text)
	if at < 0 {
		return Hit{}, false
	}
	found := string(text)
	if shown != nil {
		found = shown(found)
		if at, length = index(w, found); at < 0 {
			return Hit{}, false
		}
	}
	return Hit{place, excerptOf(found, at, length)}, true
}

// index returns the position and length, in bytes, of the word in a text; -1 and 0 if absent.
func index[T ~string | ~[]byte](w word, text T) (at, length int) {
	for _, spelling := range w {
		if spelling == "" {
			continue
		}
		upper := spelling[0]
		if 'a' <= upper && upper <= 'z' {
			upper -= 'a' - 'A'
		}
		for at := range len(text) - len(spelling) + 1 {
			if c := text[at]; (c == spelling[0] || c == upper) && sameFolded(text[at:at+len(spelling)], spelling) {
				return at, len(spelling)
			}
		}
	}
	return -1, 0
}

// sameFolded compares a text of the same length, ignoring the case of ASCII letters.
func sameFolded[T ~string | ~[]byte](text T, spelling string) bool {
	for i := range len(spelling) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != spelling[i] {
			return false
		}
	}
	return true
}

// around is how much of the text an excerpt shows on each side of a match, in bytes.
const around = 60

// excerptOf cuts at character boundaries and puts the excerpt on one line.
func excerptOf(text string, at, length int) *api.Excerpt {
	from, to := max(0, at-around), min(len(text), at+length+around)
	for from < at && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > at+length && !utf8.RuneStart(text[to]) {
		to--
	}
	x := &api.Excerpt{Before: shownLine(text[from:at]), Found: shownLine(text[at : at+length]), After: shownLine(text[at+length : to])}
	if from > 0 {
		x.Before = "…" + x.Before
	}
	if to < len(text) {
		x.After += "…"
	}
	return x
}

// shownLine replaces control characters by spaces, and invalid UTF-8 by dots.
func shownLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "·"))
}
