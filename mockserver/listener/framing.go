package listener

import (
	"bytes"
	"errors"
	"net"
	"strconv"
)

// strictConn refuses requests with both Content-Length and Transfer-Encoding: a
// proxy in front of the server may use the other one, so that both disagree on where
// a request ends (request smuggling, RFC 9112, section 11.2). net/http removes
// Content-Length from such requests before handlers see them, so the bytes of the
// connection are examined. Its state belongs to the goroutine that reads.
type strictConn struct {
	net.Conn
	of      *pacedListener
	begun   bool // the first Read has ended
	part    part
	left    int64  // bytes left of a body or a chunk
	line    []byte // the line so far, at most its first maxLine bytes
	length  int64  // Content-Length of this head; -1: none
	coded   bool   // this head has a Transfer-Encoding
	started bool   // the request line of this head has been read
	refused bool   // Read always fails
}

// part is the part of a request that the next byte belongs to.
type part int

const (
	inHead part = iota
	inBody
	inSize    // of a chunk
	inChunk   // and the line end after it
	inTrailer // after the last chunk
)

// afterPart is the part that follows a part of known length.
var afterPart = [...]part{inBody: inHead, inChunk: inSize}

// maxLine is how many bytes of a line are examined: enough for the two headers.
const maxLine = 256

var errTwoLengths = errors.New("request with both Content-Length and Transfer-Encoding")

// Read is part of net.Conn.
func (c *strictConn) Read(p []byte) (int, error) {
	if c.refused {
		return 0, errTwoLengths
	}
	n, err := c.Conn.Read(p)
	if !c.begun { // many clients refuse a certificate only after the handshake
		c.begun = true
		c.of.explain(c.Conn, p[:n], err)
	}
	for rest := p[:n]; len(rest) > 0; {
		if c.part == inBody || c.part == inChunk {
			skip := min(c.left, int64(len(rest)))
			rest, c.left = rest[skip:], c.left-skip
			if c.left == 0 {
				c.part = afterPart[c.part]
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

// CloseWrite lets net/http close a connection without losing its last response.
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

// begin resets the state if the next part is the head of a request.
func (c *strictConn) begin() {
	if c.part == inHead {
		c.length, c.coded, c.started = -1, false, false
	}
}

// finish processes a complete line; false when it gives the request a second length.
func (c *strictConn) finish() bool {
	line := bytes.TrimRight(c.line, "\r")
	c.line = c.line[:0]
	switch {
	case c.part == inSize:
		text, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 16, 64)
		c.part, c.left = inChunk, size+2
		if err != nil || size <= 0 { // net/http refuses an invalid number
			c.part = inTrailer
		}
	case c.part == inTrailer && len(line) == 0:
		c.part = inHead
		c.begin()
	case c.part == inTrailer:
	case len(line) == 0 && c.started:
		c.body()
	case len(line) > 0:
		return c.head(line)
	}
	return true
}

// head processes a line of a head; false as in finish.
func (c *strictConn) head(line []byte) bool {
	if !c.started {
		c.started, c.length, c.coded = true, -1, false
		return true // the request line
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch name = bytes.TrimSpace(name); {
	case bytes.EqualFold(name, []byte("Content-Length")):
		c.length = 0
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil && n > 0 {
			c.length = n
		}
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		c.coded = true
	}
	return !c.coded || c.length < 0
}

// body selects the part that follows a head.
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
