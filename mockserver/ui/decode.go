package ui

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// leastBase64 is the length of the shortest text that counts as base64: shorter words are often
// valid base64. mostUnzipped is how much of gzip data is decompressed, in bytes: a small body may
// expand to gigabytes.
const (
	leastBase64  = 8
	mostUnzipped = 64 << 10
)

// decode decodes a text from base64, in any of its alphabets, or from base64 of gzip. from names
// the encoding; it is "" unless the result is readable: words that happen to be valid base64
// rarely are. Of gzip data it returns the beginning.
func decode(text string) (plain, from string) {
	const group = 4 // characters, with padding
	bare, form := strings.TrimRight(text, "="), base64.RawStdEncoding
	if len(text) < leastBase64 || strings.ContainsAny(text, "\r\n") || bare != text && len(text)%group != 0 {
		return "", ""
	}
	if strings.ContainsAny(bare, "-_") {
		form = base64.RawURLEncoding
	}
	raw, err := form.DecodeString(bare)
	if err != nil {
		return "", ""
	}
	if unzipped, _, ok := unzip(raw); ok {
		return string(unzipped), "base64 of gzip"
	}
	if isReadable(raw) {
		return string(raw), "base64"
	}
	return "", ""
}

// unzip returns the beginning of the readable text in gzip data. whole reports that there is no
// more text. Data that is cut off gives the text before the cut. ok is false for data that is not
// gzip, or whose text is not readable.
func unzip(raw []byte) (text []byte, whole, ok bool) {
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, false, false
	}
	text, err = io.ReadAll(io.LimitReader(r, mostUnzipped+1))
	if err == nil && len(text) <= mostUnzipped {
		return text, true, isReadable(text)
	}
	text = text[:min(len(text), mostUnzipped)]
	for range utf8.UTFMax - 1 { // a character that is cut off
		if last, size := utf8.DecodeLastRune(text); last == utf8.RuneError && size == 1 {
			text = text[:len(text)-1]
		}
	}
	return text, false, isReadable(text)
}

// isReadable reports whether bytes are UTF-8 text without control characters.
func isReadable(raw []byte) bool {
	return len(bytes.TrimSpace(raw)) > 0 && utf8.Valid(raw) && bytes.IndexFunc(raw, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }) < 0
}
