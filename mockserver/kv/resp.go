package kv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readReply reads one reply of the library, in RESP2.
func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty line")
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+':
		return status(text), nil
	case '-':
		return failure(text), nil
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '$', '*':
	default:
		return nil, fmt.Errorf("reply of unknown kind %q", kind)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, err // a negative length means null
	}
	if kind == '$' {
		body := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(r, body)
		return string(body[:n]), err
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = readReply(r); err != nil {
			return nil, err
		}
	}
	return list, nil
}
