package kv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readReply reads one reply of the wire protocol. Types of RESP3, which a script may
// request, are converted to those of RESP2. (The reader of the library discards a
// whole list at the first error in it.)
func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty line")
	}
	text := line[1:]
	switch line[0] {
	case '+':
		return status(text), nil
	case '-':
		return failure(text), nil
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '#':
		if text == "t" {
			return int64(1), nil
		}
		return int64(0), nil
	case ',', '(':
		return text, nil
	case '_':
		return nil, nil
	case '$':
		return readBulk(r, text)
	case '*', '~', '>':
		return readList(r, text, 1)
	case '%':
		return readList(r, text, 2)
	}
	return nil, fmt.Errorf("reply of unknown kind %q", line[:1])
}

// maxBulk is the longest text of the protocol, in bytes.
const maxBulk = 512 << 20

// readBulk reads a string of the announced length. Memory grows with the bytes that
// arrive: a large length alone allocates nothing.
func readBulk(r *bufio.Reader, length string) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err
	}
	if n > maxBulk {
		return nil, fmt.Errorf("text of %d bytes: must be at most %d", n, maxBulk)
	}
	var b strings.Builder
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		return nil, err
	}
	if _, err := r.Discard(len("\r\n")); err != nil {
		return nil, err
	}
	return b.String(), nil
}

// readList reads a list of length times each replies; a negative length means null.
func readList(r *bufio.Reader, length string, each int) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err
	}
	list := make([]any, 0, min(n*each, 1024))
	for range n * each {
		item, err := readReply(r)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}
