package kv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readReply reads one reply of the wire protocol. RESP3's kinds are read too,
// into the flat ones of RESP2: a script may ask for them. (The embedded store's
// own reader gives up a whole list at the first error in it.)
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

func readBulk(r *bufio.Reader, length string) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return string(b[:n]), nil
}

// readList reads length times each replies; a length below zero is null.
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
