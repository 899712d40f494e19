// Package jsonsyntax describes syntax errors of JSON for people who wrote the text: where the
// error is, what is there, and what it must be. The decoder of the standard library describes
// the state of its scanner.
package jsonsyntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

const value = `a value: an object, a list, a string in double quotes, a number, true, false or null`

// expected is what the text must have where the decoder of the standard library stops, by
// the end of its error.
var expected = []struct{ state, want string }{
	{"looking for beginning of value", value},
	{"looking for beginning of object key string", "a name in double quotes"},
	{"after object key", "a colon"},
	{"after object key:value pair", "a comma or }"},
	{"after array element", "a comma or ]"},
	{"after top-level value", "the end of the text: one JSON value"},
	{"in string literal", `an escape such as \n: a string has no control characters`},
	{"in string escape code", `one of " \ / b f n r t u after a backslash`},
	{`in \u hexadecimal character escape`, `four hexadecimal digits after \u`},
	{"in numeric literal", "a digit"},
	{"after decimal point in numeric literal", "a digit"},
	{"in exponent of numeric literal", "a digit"},
	{"exceeded max depth", "a value of at most 10000 levels"},
}

// tooEarly describes a text that ends within a value.
const tooEarly = "the text ends too early"

// Explain describes an error of encoding/json about a text, such as
// "line 2, column 8: unexpected '}': must be a value: an object, ..." or "count: received a
// string". Other errors keep their words.
func Explain(text []byte, err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return At(text, len(text)) + ": " + tooEarly
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if number, ok := strings.CutPrefix(kind.Value, "number "); ok { // a number alone is of another kind
			rule := " is not an integer in range"
			if k := kind.Type.Kind(); k == reflect.Float64 || k == reflect.Float32 {
				rule = " is out of range"
			}
			return At(text, int(kind.Offset)-len(number)) + ": number " + number + rule
		}
		return otherKind(kind)
	}
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	said := wrong.Error()
	if strings.HasPrefix(said, "unexpected end") {
		return At(text, len(text)) + ": " + tooEarly
	}
	at := min(max(int(wrong.Offset)-1, 0), len(text))
	said, _, _ = strings.Cut(said, " (expecting")
	if strings.Contains(said, "' in literal ") {
		from, word := wordAt(text, at)
		return At(text, from) + ": unexpected " + strconv.Quote(word) + ": must be " + value
	}
	place := At(text, at)
	for _, e := range expected {
		if strings.HasSuffix(said, "' "+e.state) {
			return place + ": unexpected " + character(text[at:]) + ": must be " + e.want
		}
	}
	return place + ": " + said
}

// otherKind describes a value of a kind that the program does not expect there.
func otherKind(wrong *json.UnmarshalTypeError) string {
	kind, _, _ := strings.Cut(wrong.Value, " ")
	article := "a "
	if strings.ContainsRune("aeo", rune(kind[0])) {
		article = "an "
	}
	kind = strings.Replace(article+kind, "a bool", "a boolean", 1)
	if wrong.Field == "" {
		return "received " + kind
	}
	return wrong.Field + ": received " + kind
}

// wordAt returns the beginning of a word and the word, cut after 40 bytes. The decoder stops at
// a character within the word, or behind it.
func wordAt(text []byte, at int) (from int, word string) {
	from = at
	for from > 0 && isLetter(text[from-1]) {
		from--
	}
	to := at
	for to < len(text) && to < from+40 && isLetter(text[to]) {
		to++
	}
	return from, string(text[from:to])
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// character is the first character of a text in quotes.
func character(text []byte) string {
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size <= 1 {
		return "a byte that is not UTF-8"
	}
	return strconv.QuoteRune(r)
}

// At is the line and the column of a byte of a text, both from 1; the column counts
// characters.
func At(text []byte, at int) string {
	before := text[:min(max(at, 0), len(text))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return "line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column)
}
