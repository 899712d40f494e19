// Package encoded finds readable text that is written as base64, as a whole or within JSON,
// such as the data of an event, or compressed with gzip. The page shows it decoded, and a
// search looks through it.
//
//	plain, from := encoded.Decode("b3JkZXIgNw==") // order 7, base64
//
// It reads no other encoding, and no base64 with spaces or line ends.
package encoded

import (
	"bytes"
	"encoding/base64"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Least is the length of the shortest text that counts as base64: shorter words are often
// valid base64.
const Least = 8

// MostDecoded is how much of gzip data within base64 is decompressed, in bytes.
const MostDecoded = 64 << 10

// Decode decodes a text from base64, in any of its alphabets, or from base64 of gzip. from
// names the encoding; it is "" unless the result is readable: words that happen to be valid
// base64 rarely are. Of gzip data it returns the beginning.
func Decode(text string) (plain, from string) {
	if len(text) < Least || strings.ContainsAny(text, "\\ \t\r\n") || !startsReadable(text) {
		return "", ""
	}
	raw, ok := AppendPlain(nil, text)
	if !ok {
		return "", ""
	}
	if unzipped, _, ok := AppendUnzipped(nil, raw, MostDecoded); ok {
		return string(unzipped), "base64 of gzip"
	}
	if IsReadable(raw) {
		return string(raw), "base64"
	}
	return "", ""
}

// base64Bytes are the bytes of both alphabets. A backslash is one of them because JSON may
// escape a slash.
var base64Bytes = func() (set [256]bool) {
	for _, c := range []byte(`ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\`) {
		set[c] = true
	}
	return set
}()

// Texts returns the strings of a JSON document that may be base64 of readable text, or the
// whole text if it may be. They have at least least bytes, which must be Least or more. For
// speed it looks at every least-th byte only.
func Texts[T ~string | ~[]byte](text T, least int) iter.Seq[T] {
	return func(yield func(T) bool) {
		end := 0 // of the latest run of base64 bytes
		for at := least - 1; at < len(text); at = max(at, end) + least {
			if !base64Bytes[text[at]] {
				continue
			}
			start := at
			for start > end && base64Bytes[text[start-1]] {
				start--
			}
			for end = at + 1; end < len(text) && base64Bytes[text[end]]; end++ {
			}
			if end-start >= least && isWholeText(text, start, end) && startsReadable(text[start:end]) && !yield(text[start:end]) {
				return
			}
		}
	}
}

// isWholeText reports whether a part of a text is a JSON string that is not a key, or all of
// the text but for white space.
func isWholeText[T ~string | ~[]byte](text T, start, end int) bool {
	if start > 0 && text[start-1] == '"' {
		return end < len(text) && text[end] == '"' && (end+1 == len(text) || text[end+1] != ':')
	}
	const margin = 16 // bytes of white space
	return start <= margin && len(text)-end <= margin && len(strings.TrimSpace(string(text[:start])))+len(strings.TrimSpace(string(text[end:]))) == 0
}

// base64Values are the values of the bytes of both alphabets; 0xff: none.
var base64Values = func() (values [256]byte) {
	for i := range values {
		values[i] = 0xff
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		values[c] = byte(i)
	}
	values['-'], values['_'] = values['+'], values['/']
	return values
}()

// startsReadable reports whether the first bytes that a text encodes are readable or those of
// gzip, so that other texts need not be decoded.
func startsReadable[T ~string | ~[]byte](text T) bool {
	var plain [6]byte
	ascii := true
	for i := range plain {
		at, shift := i+i/3, 2*(i%3)+2
		high, low := base64Values[text[at]], base64Values[text[at+1]]
		if high == 0xff || low == 0xff {
			return true // an escape or the padding: not worth an exception
		}
		plain[i] = high<<shift | low>>(6-shift)
		ascii = ascii && ' ' <= plain[i] && plain[i] <= '~'
	}
	if string(plain[:len(gzipMark)]) == gzipMark {
		return true
	}
	for rest := plain[:]; !ascii && utf8.FullRune(rest); {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return false
		}
		rest = rest[size:]
	}
	return true
}

// escapedSlashes removes the escapes that JSON may have within base64.
var escapedSlashes = strings.NewReplacer(`\/`, `/`, `\u003d`, `=`, `\u002b`, `+`, `\u002B`, `+`)

// AppendPlain appends to out what a text encodes, readable or not. It returns false if the text
// is not base64.
func AppendPlain[T ~string | ~[]byte](out []byte, text T) ([]byte, bool) {
	plain := []byte(text)
	if bytes.IndexByte(plain, '\\') >= 0 {
		plain = []byte(escapedSlashes.Replace(string(plain)))
	}
	const group = 4 // characters, with padding
	if n := len(plain); plain[n-1] == '=' && n%group != 0 {
		return out, false
	}
	for len(plain) > 0 && plain[len(plain)-1] == '=' {
		plain = plain[:len(plain)-1]
	}
	form := base64.RawStdEncoding
	if bytes.IndexByte(plain, '-') >= 0 || bytes.IndexByte(plain, '_') >= 0 {
		form = base64.RawURLEncoding
	}
	out, err := form.AppendDecode(out, plain)
	return out, err == nil
}

// IsReadable reports whether bytes are UTF-8 text without control characters.
func IsReadable(raw []byte) bool {
	if len(bytes.TrimSpace(raw)) == 0 || !utf8.Valid(raw) {
		return false
	}
	for _, r := range string(raw) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}
