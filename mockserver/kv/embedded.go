package kv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// embedded is a miniredis in this process. Commands are dispatched to it directly,
// without a socket. It adds the limits that the library lacks: of values, replies,
// all data and scripts.
type embedded struct {
	redis  *miniredis.Miniredis
	server *server.Server
	now    func() time.Time
	stop   context.Context // ends when the store closes
	cancel context.CancelFunc

	mu       sync.Mutex // one command, transaction or script at a time
	told     time.Time  // the time that was last set in the store
	usage    usage
	capacity *Capacity
	counted  atomic.Int64 // bytes that it uses of its capacity
	scripts  scriptCache
}

func newEmbedded(now func() time.Time, capacity *Capacity) (*embedded, error) {
	redis := miniredis.NewMiniRedis()
	conn, err := redis.Dial() // starts it without a listener
	if err != nil {
		return nil, err
	}
	if err := conn.Close(); err != nil {
		return nil, err
	}
	e := &embedded{redis: redis, server: redis.Server(), now: now, capacity: capacity}
	e.stop, e.cancel = context.WithCancel(context.Background())
	redis.SetTime(now().Truncate(time.Millisecond))
	redis.ClockTTL(true)
	return e, nil
}

// close stops a running script, and releases the data and the capacity.
func (e *embedded) close() error {
	e.cancel()
	e.redis.Close()
	e.capacity.used.Add(-e.counted.Swap(0))
	return nil
}

// tick sets the time of the store, in milliseconds, the finest unit of commands: at
// each new time, the store checks all keys that expire.
func (e *embedded) tick() {
	now := e.now().Truncate(time.Millisecond)
	if now.Equal(e.told) {
		return
	}
	if now.Sub(e.told) >= time.Second {
		e.usage.stale = true // keys may have expired
	}
	e.redis.SetTime(now)
	e.told = now
}

// run runs commands one after the other.
func (e *embedded) run(ctx context.Context, commands [][]string) []any {
	c := e.connect(ctx)
	replies := make([]any, len(commands))
	for i, command := range commands {
		replies[i] = e.alone(c, command)
	}
	return replies
}

// alone runs one command with the lock.
func (e *embedded) alone(c *connection, command []string) any {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	return e.do(c, command)
}

// transact runs commands atomically. If one cannot be queued, it runs none.
func (e *embedded) transact(ctx context.Context, commands [][]string) []any {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	c := e.connect(ctx)
	c.dispatch([]string{"MULTI"})
	broken := ""
	for _, command := range commands {
		reply, failed := c.dispatch(command).(failure)
		if text := e.lacks(strings.ToUpper(command[0]), command[1:]); text != "" {
			reply, failed = failure(text), true
		}
		if failed && broken == "" {
			broken = string(reply)
		}
	}
	c.dispatch([]string{"DISCARD"}) // MULTI has only checked the commands
	if broken != "" {
		return []any{failure("EXECABORT Transaction discarded because of: " + broken)}
	}
	replies := make([]any, len(commands))
	for i, command := range commands {
		replies[i] = e.do(c, command)
	}
	return replies
}

// do runs one command within the limits. The caller holds the lock.
func (e *embedded) do(c *connection, command []string) any {
	if err := context.Cause(c.ctx); err != nil {
		return failure("ERR command not run: the client is gone")
	}
	if e.stop.Err() != nil {
		return failure(errClosed)
	}
	if c.out.left <= 0 {
		return failure(errReplyTooLarge)
	}
	name := strings.ToUpper(command[0])
	text := e.lacks(name, command[1:])
	if text == "" {
		text = e.admit(c, name, command[1:])
	}
	if text != "" {
		return failure(text)
	}
	if script := scriptCommands[name]; script != nil && len(command) > 1 {
		return script(e, c, name, command[1:])
	}
	if adapt := adaptedCommands[name]; adapt != nil && len(command) > 1 {
		return adapt(c, command)
	}
	return c.dispatch(command)
}

// connection is a client of the embedded store for one request. It has the state of
// MULTI and the room that is left for replies.
type connection struct {
	ctx   context.Context
	redis *miniredis.Miniredis
	to    *server.Server
	peer  *server.Peer
	out   *bounded
	in    *bufio.Reader
}

func (e *embedded) connect(ctx context.Context) *connection {
	c := &connection{ctx: ctx, redis: e.redis, to: e.server}
	c.open(maxReplies)
	return c
}

// open resets the connection, with room for replies in bytes.
func (c *connection) open(room int) {
	c.out = &bounded{left: room}
	c.peer = server.NewPeer(bufio.NewWriter(c.out))
	c.in = bufio.NewReader(c.out)
}

// dispatch runs one command of the library and reads its reply. A command that
// panics, for example because its reply has no room, leaves the library locked.
// Commands run one at a time, so dispatch can release that lock.
func (c *connection) dispatch(command []string) (reply any) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		c.redis.TryLock()
		c.redis.Unlock()
		reply = failure(fmt.Sprintf("ERR the store failed at %s: %v", oneLine(command[0]), fault))
		room := c.out.left
		if err, ok := fault.(error); ok && errors.Is(err, errNoRoom) {
			reply, room = failure(errReplyTooLarge), 0
		}
		c.open(room)
	}()
	c.out.Reset() // a command may have written more than one reply
	c.in.Reset(c.out)
	c.to.Dispatch(c.peer, command)
	c.peer.Flush()
	reply, err := readReply(c.in)
	if err != nil {
		return failure("ERR the store gave no reply: " + err.Error())
	}
	if text, failed := reply.(failure); failed && strings.ToUpper(string(text[:1])) != string(text[:1]) { // an error of a Go function
		return "ERR " + text
	}
	return reply
}

// bounded is a buffer for replies of limited size.
type bounded struct {
	bytes.Buffer
	left int
}

var errNoRoom = errors.New("no room for the reply")

// Write panics when there is no room: a command that repeats a value endlessly
// ignores errors, and would continue.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		panic(errNoRoom)
	}
	return b.Buffer.Write(p)
}
