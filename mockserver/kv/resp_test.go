package kv

import (
	"bufio"
	"strings"
	"testing"
)

// FuzzReply reads any bytes: a real server may send anything.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$3\r\nabc\r\n", "$-1\r\n", "*2\r\n:1\r\n$1\r\na\r\n", "%1\r\n+a\r\n:1\r\n", "$99999999999\r\n", "*99999999999\r\n", "*-5\r\n", "_\r\n", ",1.5\r\n",
		strings.Repeat("*1\r\n", 1000), "$2\r\nabc"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := bufio.NewReader(strings.NewReader(text))
		for range 10 {
			if _, err := readReply(r); err != nil {
				return
			}
		}
	})
}
