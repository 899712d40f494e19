package listener

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// countedConn counts the deadlines that are set.
type countedConn struct {
	net.Conn
	deadlines int
}

func (c *countedConn) SetReadDeadline(t time.Time) error {
	c.deadlines++
	return c.Conn.SetReadDeadline(t)
}

// none is no deadline; past is one that has passed.
const (
	none = time.Hour
	past = -time.Minute
)

// piped is a connection and a function that sends it one byte after a while.
func piped(t *testing.T) (conn *lazyConn, counted *countedConn, send func(after time.Duration)) {
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	counted = &countedConn{Conn: near}
	return &lazyConn{Conn: counted, clock: clock.NewReal()}, counted, func(after time.Duration) {
		time.AfterFunc(after, func() { _, _ = far.Write([]byte("x")) }) // a read fails otherwise
	}
}

// setDeadline sets the deadline of reads to a time from now on.
func setDeadline(t *testing.T, conn net.Conn, after time.Duration) {
	at := time.Now().Add(after)
	if after == none {
		at = time.Time{}
	}
	if err := conn.SetReadDeadline(at); err != nil {
		t.Error(err)
	}
}

// A read ends at the deadline that was set last, whichever deadlines there were before, and
// whenever it was set.
func TestAReadEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		first  time.Duration // deadline of an earlier read
		before time.Duration // deadline at the start of the read
		during time.Duration // deadline that is set after a second, from then on; 0: none is set
		ends   time.Duration // none: with a byte, after an hour
	}{
		"none":                            {none, none, 0, none},
		"one":                             {none, 2 * s, 0, 2 * s},
		"past":                            {none, past, 0, 0},
		"removed before the read":         {2 * s, none, 0, none},
		"later before the read":           {2 * s, 5 * s, 0, 5 * s},
		"earlier before the read":         {5 * s, 2 * s, 0, 2 * s},
		"past before the read":            {5 * s, past, 0, 0},
		"set during the read":             {none, none, 2 * s, 3 * s},
		"removed during the read":         {none, 2 * s, none, none},
		"later during the read":           {none, 2 * s, 5 * s, 6 * s},
		"earlier during the read":         {none, 5 * s, 2 * s, 3 * s},
		"past during the read":            {none, 5 * s, past, s},
		"set during a read without one":   {5 * s, none, 2 * s, 3 * s},
		"later than that of another read": {5 * s, none, 9 * s, 10 * s},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn, _, send := piped(t)
				setDeadline(t, conn, c.first)
				send(0)
				expect.NoError(t, expect.ErrorOf(conn.Read(make([]byte, 1))))
				setDeadline(t, conn, c.before)
				if c.during != 0 {
					time.AfterFunc(s, func() { setDeadline(t, conn, c.during) })
				}
				if c.ends == none {
					send(none)
				}
				start := time.Now()
				_, err := conn.Read(make([]byte, 1))
				if took := time.Since(start); took != c.ends || (c.ends == none) != (err == nil) || err != nil && !response.IsTimeout(err) {
					t.Errorf("read: ended after %v with %v, want after %v", took, err, c.ends)
				}
				setDeadline(t, conn, none)
				send(s)
				if n, err := conn.Read(make([]byte, 1)); n != 1 || err != nil {
					t.Errorf("next read: got %d bytes, %v; want 1", n, err)
				}
			})
		})
	}
}

// A deadline that no read needs is not set: each one costs about as much as a lookup.
func TestADeadlineThatNoReadNeedsIsNotSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, counted, send := piped(t)
		for range 3 {
			for _, after := range []time.Duration{none, 2 * time.Minute, none, time.Minute} {
				setDeadline(t, conn, after)
			}
			send(time.Second)
			expect.NoError(t, expect.ErrorOf(conn.Read(make([]byte, 1))))
		}
		expect.Equal(t, "deadlines of the connection", counted.deadlines, 1)
	})
}
