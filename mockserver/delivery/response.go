package delivery

import (
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/mockserver/response"
)

const (
	// DefaultMaxResponse is how much of a destination's answer is kept, in bytes.
	DefaultMaxResponse = 10 << 20
	// countedTimes limits how much of an answer of unknown length is read to count its
	// bytes, as a multiple of what is kept.
	countedTimes = 10
)

// cutResponse returns the part of an answer that is kept. If the answer is longer,
// the note says how long; the attempt counts as answered all the same.
func cutResponse(r *http.Response, kept []byte, limit int64) (body []byte, note string) {
	if int64(len(kept)) < limit {
		return kept, ""
	}
	length, more := r.ContentLength, ""
	if length < 0 {
		rest, err := io.Copy(io.Discard, io.LimitReader(r.Body, (countedTimes-1)*limit))
		if length = limit + rest; length == countedTimes*limit || err != nil {
			more = "more than "
		}
	}
	if length == limit && more == "" {
		return kept, ""
	}
	return wholeCharacters(kept), fmt.Sprintf("answer is %s%d bytes long; the limit is %d (%s), and the rest is not kept; raise it with --max-answer", more, length, limit, response.ByteSize(limit))
}

// wholeCharacters removes an incomplete UTF-8 character at the end of a text.
func wholeCharacters(text []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
