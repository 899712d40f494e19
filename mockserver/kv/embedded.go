package kv

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// embedded is a miniredis in this process. Commands are dispatched to it
// directly: no socket, no listener.
type embedded struct {
	redis  *miniredis.Miniredis
	server *server.Server
	now    func() time.Time

	mu   sync.Mutex // guards told
	told time.Time  // the time that the store was given last
}

func newEmbedded(now func() time.Time) (*embedded, error) {
	redis := miniredis.NewMiniRedis()
	conn, err := redis.Dial() // starts it without a listener
	if err != nil {
		return nil, err
	}
	if err := conn.Close(); err != nil {
		return nil, err
	}
	e := &embedded{redis: redis, server: redis.Server(), now: now}
	redis.SetTime(now().Truncate(time.Millisecond))
	redis.ClockTTL(true)
	return e, nil
}

func (e *embedded) close() error {
	e.redis.Close()
	return nil
}

// tick tells the store the time. Whole milliseconds, the finest that commands
// can name: each new time costs the store a look at all keys that expire.
func (e *embedded) tick() {
	now := e.now().Truncate(time.Millisecond)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !now.Equal(e.told) {
		e.redis.SetTime(now)
		e.told = now
	}
}

// run runs commands one after the other, at one time.
func (e *embedded) run(_ context.Context, commands [][]string) []any {
	e.tick()
	c := e.connect()
	replies := make([]any, len(commands))
	for i, command := range commands {
		replies[i] = c.do(command)
	}
	return replies
}

// transact runs commands as one. A command that cannot be queued discards all.
func (e *embedded) transact(_ context.Context, commands [][]string) []any {
	e.tick()
	c := e.connect()
	c.do([]string{"MULTI"})
	var broken any
	for _, command := range commands {
		if reply, failed := c.do(command).(failure); failed && broken == nil {
			broken = reply
		}
	}
	if broken != nil { // the store itself would run the rest
		c.do([]string{"DISCARD"})
		return []any{failure(fmt.Sprintf("EXECABORT Transaction discarded because of: %v", broken))}
	}
	replies, ok := c.do([]string{"EXEC"}).([]any)
	if !ok {
		return []any{failure("EXECABORT Transaction discarded because of previous errors.")}
	}
	return replies
}

// connection is a client of the embedded store; MULTI belongs to it.
type connection struct {
	server *server.Server
	peer   *server.Peer
	out    *bytes.Buffer
	in     *bufio.Reader
}

func (e *embedded) connect() *connection {
	out := &bytes.Buffer{}
	return &connection{server: e.server, peer: server.NewPeer(bufio.NewWriter(out)), out: out, in: bufio.NewReader(out)}
}

// do runs one command and reads its reply.
func (c *connection) do(command []string) (reply any) {
	defer func() {
		if fault := recover(); fault != nil {
			reply = failure(fmt.Sprintf("ERR the store failed at %s: %v", command[0], fault))
		}
	}()
	c.server.Dispatch(c.peer, command)
	c.peer.Flush()
	reply, err := readReply(c.in)
	if err != nil {
		return failure("ERR the store gave no reply: " + err.Error())
	}
	return reply
}
