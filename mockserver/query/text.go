package query

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/mockserver/encoded"
)

// mostNested is how often a text is decoded: base64 may contain JSON with base64.
const mostNested = 3

// word is a text to look for, regardless of case.
type word struct {
	text     string // as given in the query
	spelling []spelling

	budget       *budget            // of the query
	leastEncoded int                // length of the shortest base64 that may contain the word
	decoded      [mostNested][]byte // what the latest base64 encodes, to reuse the memory
	unzipped     []byte             // the latest decompressed text
}

// spelling is one spelling of a word, with its ASCII letters in lower case.
type spelling struct {
	text   string
	rarest int // index of its rarest byte
}

// newWord adds spellings in upper and lower case for non-ASCII letters, and the escaped
// spellings of JSON: most bodies are JSON, and many clients escape characters in it.
func newWord(text string) word {
	var texts []string
	add := func(s string) {
		if s = lowerASCII(s); !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	add(strings.ToLower(text))
	add(text)
	add(strings.ToUpper(text))
	for _, s := range slices.Clone(texts) {
		add(jsonSpelling(s, false))
		add(jsonSpelling(s, true))
	}
	w := word{text: text}
	for _, s := range texts {
		w.spelling = append(w.spelling, spelling{s, rarestByte(s)})
	}
	shortest := slices.MinFunc(texts, func(x, y string) int { return len(x) - len(y) })
	w.leastEncoded = min(max(encoded.Least, base64.RawStdEncoding.EncodedLen(len(shortest))), encoded.LeastGzip)
	return w
}

// jsonSpelling is a text as encoders write it in a JSON string. With ascii, it is the
// form of encoders that escape all non-ASCII characters.
func jsonSpelling(s string, ascii bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || strings.ContainsRune(`"\<>&`, r) }) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(ascii)
	_ = e.Encode(s) // a string always encodes
	text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
	if !ascii {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if r <= unicode.MaxASCII {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16Units(r) {
			out.WriteString(unit)
		}
	}
	return out.String()
}

// utf16Units returns the JSON escapes of a character: one, or a surrogate pair.
func utf16Units(r rune) []string {
	const surrogates, half = 0x10000, 10
	if r < surrogates {
		return []string{escapedUnit(r)}
	}
	r -= surrogates
	return []string{escapedUnit(0xd800 + r>>half), escapedUnit(0xdc00 + r&(1<<half-1))}
}

func escapedUnit(unit rune) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[unit>>12&15], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15]})
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

// in returns the position and length, in bytes, of the word in a text; -1 if absent.
func (w *word) in(text string) (at, length int) {
	for _, s := range w.spelling {
		if at := foldIndex(text, s, strings.IndexByte); at >= 0 {
			return at, len(s.text)
		}
	}
	return -1, 0
}

// inBytes is the same as in for a body.
func (w *word) inBytes(body []byte) (at, length int) {
	for _, s := range w.spelling {
		if at := foldIndex(body, s, bytes.IndexByte); at >= 0 {
			return at, len(s.text)
		}
	}
	return -1, 0
}

// mostUnzipped is how much of a compressed body is searched, in bytes.
const mostUnzipped = 1 << 20

// inGzip looks for the word in the first most bytes of the readable text of gzip data, and
// returns this part of the text.
func (w *word) inGzip(raw []byte, most int) (plain []byte, ok bool) {
	if !encoded.IsGzip(raw) {
		return nil, false
	}
	if w.budget.left <= 0 {
		w.budget.short = true
		return nil, false
	}
	text, _, ok := encoded.AppendUnzipped(w.unzipped[:0], raw, most)
	w.unzipped = text[:0]
	w.budget.left -= max(len(text), leastWork)
	if at, _ := w.inBytes(text); !ok || at < 0 {
		return nil, false
	}
	return bytes.Clone(text), true
}

// inEncoded looks for the word in the readable base64 of a text, and returns the decoded text
// with the word, and the name of the encoding.
func inEncoded[T ~string | ~[]byte](w *word, text T, nested int) (plain []byte, from string) {
	if nested == mostNested {
		return nil, ""
	}
	for text := range encoded.Texts(text, w.leastEncoded) {
		decoded, ok := encoded.AppendPlain(w.decoded[nested][:0], text)
		w.decoded[nested] = decoded[:0]
		if !ok {
			continue
		}
		if at, _ := w.inBytes(decoded); at >= 0 && encoded.IsReadable(decoded) {
			return bytes.Clone(decoded), "base64"
		}
		if plain, ok := w.inGzip(decoded, encoded.MostDecoded); ok {
			return plain, "base64 of gzip"
		}
		if plain, from := inEncoded(w, decoded, nested+1); from != "" {
			return plain, from
		}
	}
	return nil, ""
}

// byteRanks lists the most common bytes of texts, the most frequent first.
const byteRanks = `e"taoinsr:,0123hl456789dcumfpgwybvk-_/xjqz`

// rarestByte is the index of the byte of a spelling that is rarest in texts.
func rarestByte(spelling string) (place int) {
	rarest := -1
	for i := range len(spelling) {
		rank := strings.IndexByte(byteRanks, spelling[i])
		if rank < 0 {
			rank = len(byteRanks)
		}
		if rank > rarest {
			place, rarest = i, rank
		}
	}
	return place
}

// foldIndex finds a spelling, ignoring the case of ASCII letters. For speed it jumps
// between occurrences of the rarest byte, in either case.
func foldIndex[T ~string | ~[]byte](text T, spelling spelling, next func(T, byte) int) int {
	s, last := spelling.text, len(text)-len(spelling.text)+spelling.rarest
	if len(text) < len(s) || s == "" {
		return -1
	}
	lower, upper := s[spelling.rarest], s[spelling.rarest]
	if lower >= 'a' && lower <= 'z' {
		upper -= 'a' - 'A'
	}
	atLower, atUpper := -1, -1
	if upper == lower {
		atUpper = len(text)
	}
	for at := spelling.rarest; ; at++ {
		atLower, atUpper = ahead(text, at, atLower, lower, next), ahead(text, at, atUpper, upper, next)
		if at = min(atLower, atUpper); at > last {
			return -1
		}
		if from := at - spelling.rarest; sameFolded(text[from:from+len(s)], s) {
			return from
		}
	}
}

// ahead returns the first index of a byte from at on; known is an earlier result.
func ahead[T ~string | ~[]byte](text T, at, known int, b byte, next func(T, byte) int) int {
	if known >= at {
		return known
	}
	if i := next(text[at:], b); i >= 0 {
		return at + i
	}
	return len(text)
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

// Excerpt is a match with the text around it.
type Excerpt struct {
	Before string `json:"before"`
	Found  string `json:"found"`
	After  string `json:"after"`
}

// excerptOf cuts at character boundaries and puts the excerpt on one line.
func excerptOf(text string, at, length int) *Excerpt {
	from, to := max(0, at-around), min(len(text), at+length+around)
	for from < at && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > at+length && !utf8.RuneStart(text[to]) {
		to--
	}
	x := &Excerpt{shownLine(text[from:at]), shownLine(text[at : at+length]), shownLine(text[at+length : to])}
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
