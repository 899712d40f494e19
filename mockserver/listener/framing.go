package listener

import (
	"bytes"
	"errors"
	"net"
	"strconv"
	"strings"
)

// strictListener refuses requests with two lengths, Content-Length and
// Transfer-Encoding: what stands before the server may have gone by the other
// one, and take for part of a body what the server takes for a request (RFC
// 9112, section 11.2). net/http drops Content-Length there before anybody can
// see it, so the bytes themselves are looked at.
type strictListener struct{ net.Listener }

// Accept waits for a connection.
func (l strictListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &strictConn{Conn: conn}, nil
}

// strictConn follows the requests on a connection. Only the one that reads may
// use it.
type strictConn struct {
	net.Conn
	part    part
	left    int64  // bytes of a body or a chunk
	line    []byte // the beginning of a line that is not complete, at most maxLine of it
	length  int64  // Content-Length of this head; -1: none
	coded   bool   // this head has a Transfer-Encoding
	started bool   // this head has had a line
	refused bool   // nothing is read any more
}

// part is what the next byte belongs to.
type part int

const (
	inHead part = iota
	inBody
	inSize    // of a chunk
	inChunk   // with the line end behind it
	inTrailer // behind the last chunk
)

// maxLine is how much of a line decides; no name and no length is longer.
const maxLine = 256

var errTwoLengths = errors.New("request with both Content-Length and Transfer-Encoding")

// Read is part of net.Conn.
func (c *strictConn) Read(p []byte) (int, error) {
	if c.refused {
		return 0, errTwoLengths
	}
	n, err := c.Conn.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if c.part == inBody || c.part == inChunk {
			skip := min(c.left, int64(len(rest)))
			rest, c.left = rest[skip:], c.left-skip
			if c.left == 0 {
				c.part = map[part]part{inBody: inHead, inChunk: inSize}[c.part]
				c.begin()
			}
			continue
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			c.keep(rest)
			break
		}
		c.keep(rest[:end])
		rest = rest[end+1:]
		if !c.finish() {
			c.refused = true
			return 0, errTwoLengths
		}
	}
	return n, err
}

// CloseWrite lets net/http end a connection so that its last answer arrives.
func (c *strictConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *strictConn) keep(b []byte) {
	c.line = append(c.line, b[:min(len(b), maxLine-len(c.line))]...)
}

// begin prepares for the head of a request, if one is next.
func (c *strictConn) begin() {
	if c.part == inHead {
		c.length, c.coded, c.started = -1, false, false
	}
}

// finish takes a complete line; false: it gives the request a second length.
func (c *strictConn) finish() bool {
	line := strings.TrimRight(string(c.line), "\r")
	c.line = c.line[:0]
	switch {
	case c.part == inSize:
		text, _, _ := strings.Cut(line, ";")
		size, err := strconv.ParseInt(strings.TrimSpace(text), 16, 64)
		c.part, c.left = inChunk, size+2
		if err != nil || size <= 0 { // net/http refuses what is no number
			c.part = inTrailer
		}
	case c.part == inTrailer && line == "":
		c.part = inHead
		c.begin()
	case c.part == inTrailer:
	case line == "" && c.started:
		c.body()
	case line != "":
		return c.head(line)
	}
	return true
}

// head takes a line of a head.
func (c *strictConn) head(line string) bool {
	if !c.started {
		c.started, c.length, c.coded = true, -1, false
		return true // the request line
	}
	name, value, _ := strings.Cut(line, ":")
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "content-length":
		c.length = 0
		if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && n > 0 {
			c.length = n
		}
	case "transfer-encoding":
		c.coded = true
	}
	return !c.coded || c.length < 0
}

// body begins what follows a head.
func (c *strictConn) body() {
	switch {
	case c.coded:
		c.part = inSize
	case c.length > 0:
		c.part, c.left = inBody, c.length
	default:
		c.begin()
	}
}
