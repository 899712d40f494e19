package encoded

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"sync"
	"unicode/utf8"
)

// gzipMark is how gzip data starts: the format, and its only method of compression.
const gzipMark = "\x1f\x8b\x08"

// LeastGzip is the length of the base64 of the shortest gzip data.
const LeastGzip = 27

// gzipReaders have large tables, which are used again.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// IsGzip reports whether bytes start like gzip data.
func IsGzip(raw []byte) bool { return bytes.HasPrefix(raw, []byte(gzipMark)) }

// AppendUnzipped appends to out the readable text in gzip data, at most most bytes of it: a
// small body may expand to gigabytes. whole reports that there is no more text. Data that
// is cut off gives the text before the cut. ok is false for data that is not gzip, or whose
// text is not readable.
func AppendUnzipped(out, raw []byte, most int) (text []byte, whole, ok bool) {
	if !IsGzip(raw) {
		return out, false, false
	}
	r, _ := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(r)
	if r.Reset(bytes.NewReader(raw)) != nil {
		return out, false, false
	}
	held := bytes.NewBuffer(out)
	_, err := io.CopyN(held, r, int64(most)+1)
	text = held.Bytes()
	if whole = errors.Is(err, io.EOF); whole {
		return text, whole, IsReadable(text[len(out):])
	}
	text = text[:min(len(text), len(out)+most)]
	for range utf8.UTFMax - 1 { // a character that is cut off
		if last, size := utf8.DecodeLastRune(text[len(out):]); last == utf8.RuneError && size == 1 {
			text = text[:len(text)-1]
		}
	}
	return text, false, IsReadable(text[len(out):])
}
