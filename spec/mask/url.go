package mask

import (
	"strings"
	"sync"
)

// URL hides the credentials in a URL, or in a path with a query: user and password,
// query parameters, and those of a URL inside it, also if it is escaped several times.
func URL(u string) string { return hiding.URL(u) }

// URL hides the credentials in a URL, or in a path with a query.
func (m Masker) URL(u string) string { return m.located(u, "") }

// edges are the characters that end a URL in a text.
const edges = " \t\r\n\"'<>`"

// char is a character of a URL after all escapes are undone: its position in
// the text, and how many times it was escaped.
type char struct {
	c        byte
	from, to int
	level    int
}

// maxLevel is the largest number of nested escapes that are undone.
const maxLevel = 8

// maxKept is the largest capacity of a buffer that is kept for reuse, in characters:
// enough for a long URL.
const maxKept = 1 << 12

// chars are buffers for reuse.
var chars = sync.Pool{New: func() any { return new([]char) }}

// unescaped appends the characters of a text to an empty list, and undoes escapes
// until none is left.
func unescaped(list []char, text string) []char {
	for i := range len(text) {
		list = append(list, char{text[i], i, i + 1, 0})
	}
	for level := 1; level <= maxLevel; level++ {
		n, changed := 0, false
		for i := 0; i < len(list); i++ {
			if i+2 < len(list) && list[i].c == '%' {
				high, low := nibble(list[i+1].c), nibble(list[i+2].c)
				if high >= 0 && low >= 0 {
					list[n] = char{byte(high<<4 | low), list[i].from, list[i+2].to, level}
					n, i, changed = n+1, i+2, true
					continue
				}
			}
			list[n] = list[i]
			n++
		}
		list = list[:n]
		if !changed {
			break
		}
	}
	return list
}

func nibble(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// span is a part of a text.
type span struct{ from, to int }

// located hides the credentials of the URLs in a text; stops are characters at
// which a URL ends.
func (m Masker) located(text, stops string) string {
	if !strings.ContainsAny(text, "@%") && !namesSecret(text) {
		return text
	}
	room, _ := chars.Get().(*[]char)
	list := unescaped((*room)[:0], text)
	if *room = list; cap(list) <= maxKept {
		defer chars.Put(room)
	}
	var hide []span
	for i, c := range list {
		switch {
		case c.c == '=':
			if secretBefore(text, list[:i]) {
				if to := end(list, i+1, c.level, "&#"+stops); to > i+1 {
					hide = append(hide, span{list[i+1].from, list[to-1].to})
				}
			}
		case c.c == ':' && i+2 < len(list) && list[i+1].c == '/':
			from := i + 2
			if list[from].c == '/' {
				from++
			}
			if at := lastAt(list, from, max(c.level, list[i+1].level), stops); at > from {
				hide = append(hide, span{list[from].from, list[at-1].to})
			}
		}
	}
	return m.covered(text, hide)
}

// namesSecret reports whether a parameter of a text without escapes is a credential.
func namesSecret(text string) bool {
	for {
		name, rest, ok := strings.Cut(text, "=")
		if !ok {
			return false
		}
		name = strings.TrimRight(name, blanks)
		if from := strings.LastIndexAny(name, delimiters) + 1; secretParameter(name[from:], name[:from]) {
			return true
		}
		text = rest
	}
}

// delimiters precede the name of a parameter.
const delimiters = "?&#;,/" + edges

// blanks may surround a name, and escaped ones may be within it.
const blanks = " \t\r\n+"

// secretParameter reports whether a parameter is a credential, by its name and the text
// before it. A parameter key of a query is one; elsewhere, key names too many other things.
func secretParameter(name, before string) bool {
	return Secret(name) || before != "" && strings.ContainsRune("?&;", rune(before[len(before)-1])) && strings.EqualFold(strings.Trim(name, blanks), "key")
}

// secretBefore reports whether the parameter at the end of list is a credential.
func secretBefore(text string, list []char) bool {
	for len(list) > 0 && strings.IndexByte(blanks, list[len(list)-1].c) >= 0 {
		list = list[:len(list)-1]
	}
	from := len(list)
	for from > 0 && (strings.IndexByte(delimiters, list[from-1].c) < 0 || list[from-1].level > 0 && strings.IndexByte(blanks, list[from-1].c) >= 0) {
		from--
	}
	if from == len(list) {
		return false
	}
	before := ""
	if from > 0 {
		before = string(rune(list[from-1].c))
	}
	if first, last := list[from].from, list[len(list)-1].to; last-first == len(list)-from {
		return secretParameter(text[first:last], before) // nothing was escaped
	}
	name := make([]byte, 0, len(list)-from)
	for _, c := range list[from:] {
		name = append(name, c.c)
	}
	return secretParameter(string(name), before)
}

// end is the position of the first stop at or after from. Characters that are escaped
// more often than level are part of the value, not stops.
func end(list []char, from, level int, stops string) int {
	for i := from; i < len(list); i++ {
		if list[i].level <= level && strings.IndexByte(stops, list[i].c) >= 0 {
			return i
		}
	}
	return len(list)
}

// lastAt is the position of the @ after user and password of an authority, -1 for none.
func lastAt(list []char, from, level int, stops string) int {
	to := end(list, from, level, "/?#\\"+stops)
	for i := to - 1; i >= from; i-- {
		if list[i].c == '@' {
			return i
		}
	}
	return -1
}

// covered replaces parts of a text. They are sorted by their start and may overlap:
// only the first of overlapping parts counts.
func (m Masker) covered(text string, hide []span) string {
	if len(hide) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range hide {
		if s.from < at {
			continue // already hidden
		}
		b.WriteString(text[at:s.from])
		b.WriteString(m.Replace(text[s.from:s.to]))
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}
