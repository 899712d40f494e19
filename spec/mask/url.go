package mask

import "strings"

// URL is a URL, or a path with its query, without credentials: those of its
// authority, of its query, and of a URL inside it, encoded however often.
func URL(u string) string { return located(u, "") }

// edges end a URL in a text.
const edges = " \t\r\n\"'<>`"

// char is a character of a URL after all escapes are undone: where it stands in
// the text, and how many times it was escaped.
type char struct {
	c        byte
	from, to int
	level    int
}

// maxLevel is how many times what is escaped may be escaped again.
const maxLevel = 8

// unescaped undoes escapes until none is left.
func unescaped(text string) []char {
	list := make([]char, len(text))
	for i := range len(text) {
		list[i] = char{text[i], i, i + 1, 0}
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
func located(text, stops string) string {
	if !strings.ContainsAny(text, "=@%") {
		return text
	}
	list := unescaped(text)
	var hide []span
	for i, c := range list {
		switch {
		case c.c == '=':
			if name := nameBefore(list[:i]); Secret(name) {
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
	return covered(text, hide)
}

// nameBefore is the name of a parameter that ends here.
func nameBefore(list []char) string {
	from := len(list)
	for from > 0 && !strings.ContainsRune("?&#;,/"+edges, rune(list[from-1].c)) {
		from--
	}
	name := make([]byte, 0, len(list)-from)
	for _, c := range list[from:] {
		name = append(name, c.c)
	}
	return string(name)
}

// end is where what begins at from ends: at one of the characters, unless it was
// escaped more often than what it is part of.
func end(list []char, from, level int, stops string) int {
	for i := from; i < len(list); i++ {
		if list[i].level <= level && strings.IndexByte(stops, list[i].c) >= 0 {
			return i
		}
	}
	return len(list)
}

// lastAt is where the user and the password of an authority end, -1 without.
func lastAt(list []char, from, level int, stops string) int {
	to := end(list, from, level, "/?#\\"+stops)
	for i := to - 1; i >= from; i-- {
		if list[i].c == '@' {
			return i
		}
	}
	return -1
}

// covered puts Hidden in place of parts of a text, which are in the order of
// their beginnings and may hold each other.
func covered(text string, hide []span) string {
	if len(hide) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range hide {
		if s.from < at {
			continue // part of what is hidden
		}
		b.WriteString(text[at:s.from])
		b.WriteString(Hidden)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}
