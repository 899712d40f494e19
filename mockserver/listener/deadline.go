package listener

import (
	"net"
	"os"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// lazyConn gives its connection a read deadline only when a read needs it. net/http and
// pacedBody set about eight deadlines for each request, each with a timer of the runtime, and
// nearly all reads find their bytes at once: with 64 connections, these deadlines cost 2 to 3 µs
// of CPU for each request, and accepting a message costs 50. The connection may keep an earlier deadline than
// the one that was set last: a read that ends because of it continues.
type lazyConn struct {
	net.Conn
	clock *clock.Real

	mu      sync.Mutex
	want    time.Time // the deadline that was set; zero for none
	have    time.Time // the deadline of the connection; zero for none
	passed  bool      // have has ended a read
	waiting bool      // a read is in progress
}

// SetReadDeadline sets the deadline of reads, also of one that is in progress.
func (c *lazyConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = t
	if c.waiting {
		return c.apply()
	}
	return nil
}

// Read reads until the deadline.
func (c *lazyConn) Read(p []byte) (int, error) {
	for {
		if err := c.begin(); err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(p)
		if !c.endedEarly(n, err) {
			return n, err
		}
	}
}

// begin prepares the connection for a read.
func (c *lazyConn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.want.IsZero() && !c.want.After(c.clock.Now()) {
		return os.ErrDeadlineExceeded
	}
	c.waiting = true
	return c.apply()
}

// apply changes the deadline of the connection, unless it ends a read in time. The caller has
// the lock.
func (c *lazyConn) apply() error {
	if inTime := c.want.IsZero() || !c.have.IsZero() && !c.have.After(c.want); inTime && !c.passed {
		return nil
	}
	c.have, c.passed = c.want, false
	return c.Conn.SetReadDeadline(c.want)
}

// endedEarly ends a read. It reports whether an earlier deadline than that of the read has
// ended it.
func (c *lazyConn) endedEarly(n int, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = false
	if n > 0 || !response.IsTimeout(err) {
		return false
	}
	c.passed = true
	return c.want.IsZero() || c.want.After(c.clock.Now())
}
