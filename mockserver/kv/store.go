package kv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// unavailable are commands that block, or need a connection of the client or a second
// database; and the expiry of hash fields, which the library compares with no clock.
// Sorted by name.
var unavailable = wordSet(`ACL AUTH BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN CLIENT CLUSTER
	DISCARD EXEC HELLO HEXPIRE HEXPIREAT HEXPIRETIME HGETEX HPERSIST HPEXPIRE HPEXPIREAT HPEXPIRETIME HPTTL HSETEX HTTL
	MOVE MULTI PSUBSCRIBE PUNSUBSCRIBE QUIT SELECT SUBSCRIBE SWAPDB UNSUBSCRIBE UNWATCH WAIT WATCH`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// embedded is a miniredis in this process. Commands are dispatched to it directly, without a
// socket. It adds what the library lacks: bounds of values, replies and all data, and expiry
// whose cost does not depend on the number of keys.
type embedded struct {
	redis  *miniredis.Miniredis
	server *server.Server
	now    func() time.Time
	closed atomic.Bool

	mu       sync.Mutex // one command or transaction at a time
	at       time.Time  // of the command in progress
	expiry   expiry
	scripts  scriptCache
	usage    usage
	capacity *Capacity
	counted  atomic.Int64 // bytes that it uses of its capacity
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
	return &embedded{redis: redis, server: redis.Server(), now: now, capacity: capacity, expiry: newExpiry()}, nil
}

var errReset = errors.New("the store was reset or closed")

// close stops the commands in progress, and releases the data and the capacity.
func (e *embedded) close() {
	e.closed.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.redis.Close()
	e.usage = usage{}
	e.capacity.used.Add(-e.counted.Swap(0))
}

// run runs commands one after the other.
func (e *embedded) run(c *connection, commands [][]string) []any {
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
	e.tick(c)
	return e.do(c, command)
}

// transact runs commands atomically. If one cannot be queued, it runs none.
func (e *embedded) transact(c *connection, commands [][]string) []any {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick(c)
	e.dispatch(c, []string{"MULTI"})
	broken := ""
	for _, command := range commands {
		reply, failed := e.dispatch(c, command).(failure)
		if text := e.refused(command); text != "" {
			reply, failed = failure(text), true
		}
		if failed && broken == "" {
			broken = string(reply)
		}
	}
	e.dispatch(c, []string{"DISCARD"}) // MULTI has only checked the commands
	if broken != "" {
		return []any{failure("EXECABORT Transaction discarded because of: " + broken)}
	}
	replies := make([]any, len(commands))
	for i, command := range commands {
		replies[i] = e.do(c, command)
	}
	return replies
}

// tick sets the time of the store, in milliseconds, the finest unit of commands, and removes
// what has expired.
func (e *embedded) tick(c *connection) {
	e.at = e.now().Truncate(time.Millisecond)
	e.redis.SetTime(e.at)
	for key, due := e.expiry.next(e.at); due; key, due = e.expiry.next(e.at) {
		e.release(c, key)
		e.redis.Del(key)
	}
}

// refused returns why a command must not run, or "".
func (e *embedded) refused(command []string) string {
	name := strings.ToUpper(command[0])
	has := func(option string) bool {
		return slices.ContainsFunc(command[1:], func(s string) bool { return strings.EqualFold(s, option) })
	}
	switch {
	case name == "":
		return "ERR empty command"
	case unavailable[name] || !e.server.IsRegisteredCommand(name), strings.HasPrefix(name, "XREAD") && has("BLOCK"), name == "COPY" && has("DB"):
		return fmt.Sprintf("ERR Command is not available: '%s'", oneLine(name))
	}
	return ""
}

// ended is why the commands of a request must end, nil if they may continue.
func (e *embedded) ended(c *connection) error {
	if e.closed.Load() {
		return errReset
	}
	return context.Cause(c.ctx)
}

// do runs one command within the limits. The caller holds the lock.
func (e *embedded) do(c *connection, command []string) any {
	name, args := strings.ToUpper(command[0]), command[1:]
	if err := e.ended(c); err != nil {
		return failure("ERR command not run: " + err.Error())
	}
	if c.out.left <= 0 {
		return failure(errReplyTooLarge)
	}
	text := e.refused(command)
	if text == "" {
		text = e.admit(c, name, args)
	}
	if text != "" {
		return failure(text)
	}
	if run := scriptCommands[name]; run != nil && len(args) > 0 {
		return run(e, c, name, args)
	}
	for _, arg := range args { // the library counts down no time to live: those of the command's keys are set now
		if k := e.expiry.keys[arg]; k != nil {
			e.redis.SetTTL(arg, k.at.Sub(e.at))
		}
	}
	if name == "TTL" || name == "EXPIRETIME" { // the library truncates
		ms, ok := e.dispatch(c, append([]string{"P" + name}, args...)).(int64)
		if ok && ms >= 0 {
			return (ms + 500) / 1000
		}
	}
	reply := e.dispatch(c, command)
	switch {
	case strings.HasPrefix(name, "FLUSH"):
		e.expiry = newExpiry()
		e.count(usage{})
	case !e.server.IsReadOnlyCommand(name):
		for _, arg := range args {
			e.expiry.set(arg, e.at, e.redis.TTL(arg))
		}
	}
	return reply
}

// connection is a client of the store for one request. It has the state of MULTI, the room
// that is left for replies, and the work that is left for scripts.
type connection struct {
	ctx   context.Context // ends with the budget of the request
	peer  *server.Peer
	out   *bounded
	in    *bufio.Reader
	steps int // instructions of scripts so far
}

func connect(ctx context.Context) *connection {
	c := &connection{ctx: ctx}
	c.open(maxReplies)
	return c
}

// open resets the connection, with room for replies in bytes.
func (c *connection) open(room int) {
	c.out = &bounded{left: room}
	c.peer = server.NewPeer(bufio.NewWriter(c.out))
	c.in = bufio.NewReader(c.out)
}

// dispatch runs one command of the library and reads its reply. A command that panics, for
// example because its reply has no room, leaves the library locked. Commands run one at a time,
// so dispatch can release that lock.
func (e *embedded) dispatch(c *connection, command []string) (reply any) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		e.redis.TryLock()
		e.redis.Unlock()
		reply = failure(fmt.Sprintf("ERR the store failed at %s: %v", oneLine(command[0]), fault))
		room := c.out.left
		if err, ok := fault.(error); ok && errors.Is(err, errNoRoom) {
			reply, room = failure(errReplyTooLarge), 0
		}
		c.open(room)
	}()
	c.out.Reset() // a command may have written more than one reply
	c.in.Reset(c.out)
	e.server.Dispatch(c.peer, command)
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

// Write panics when there is no room: a command that repeats a value endlessly ignores errors,
// and would continue.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		panic(errNoRoom)
	}
	return b.Buffer.Write(p)
}
