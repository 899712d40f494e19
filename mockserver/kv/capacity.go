package kv

import (
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
)

// Limits of the embedded store in bytes. Those of keys and values are the limits
// that the service publishes; the capacity is that of its free databases.
const (
	maxKey          = 32 << 10
	maxRecord       = 100 << 20 // a value with all of its elements
	defaultCapacity = 256 << 20 // all data
	maxReplies      = 32 << 20  // all replies to one request
)

// Capacity limits the memory that embedded stores use together.
type Capacity struct {
	limit int64
	used  atomic.Int64
}

// NewCapacity returns a capacity of limit bytes, for one or several stores.
func NewCapacity(limit int64) *Capacity { return &Capacity{limit: limit} }

// Used returns an upper bound of the bytes that the stores use.
func (c *Capacity) Used() int64 { return c.used.Load() }

// full returns the error text for a command that exceeds the capacity.
func (c *Capacity) full() string {
	return fmt.Sprintf("ERR DB capacity quota exceeded. Limit: %d bytes", c.limit)
}

const (
	errReplyTooLarge  = "ERR max request size exceeded. The reply is over 33554432 bytes; read it in parts"
	errRecordTooLarge = "ERR max single record size exceeded. Limit: 104857600 bytes"
)

// Overhead in addition to the bytes of a command.
const (
	keyOverhead     = 512      // of a key
	elementOverhead = 64       // of an element of a list, set, ...
	sketchSize      = 16 << 10 // of a HyperLogLog
)

// growingCommands are the commands that may need more memory; they are refused when
// the capacity is used up. Sorted by name.
var growingCommands = wordSet(`APPEND BITOP COPY DECR DECRBY GETSET HINCRBY HINCRBYFLOAT HMSET HSET
	HSETNX INCR INCRBY INCRBYFLOAT LINSERT LMOVE LPUSH LPUSHX LSET MSET MSETNX PFADD PFMERGE PSETEX PUBLISH RENAME RENAMENX
	RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET SETBIT SETEX SETNX SETRANGE SINTERSTORE SMOVE SUNIONSTORE XADD
	XCLAIM XGROUP XREADGROUP ZADD ZINCRBY ZINTERSTORE ZUNIONSTORE`)

// copyingCommands are the growing commands that copy the values of other keys.
var copyingCommands = wordSet(`COPY SDIFFSTORE SINTERSTORE SUNIONSTORE ZINTERSTORE ZUNIONSTORE`)

// usage is an upper bound of the memory that the data need, in bytes.
type usage struct {
	used  int64
	stale bool // something has changed since it was measured
}

// admit returns why a command must be refused, or "". It estimates growth from the
// size of the command; only when that reaches a limit, it measures the data.
func (e *embedded) admit(c *connection, name string, args []string) string {
	if check := argumentChecks[name]; check != nil && len(args) > 0 {
		if text := check(e, c, name, args); text != "" {
			return text
		}
	}
	if !growingCommands[name] || len(args) == 0 {
		e.usage.stale = true
		return ""
	}
	if n := len(args[0]); n > maxKey {
		return fmt.Sprintf("ERR max key size exceeded. Limit: %d bytes, Actual: %d bytes", maxKey, n)
	}
	grows := growthOf(c, name, args)
	if grows > maxRecord || e.usage.used+grows > maxRecord && c.size(args[0])+grows > maxRecord+keyOverhead {
		return errRecordTooLarge
	}
	grows += keyOverhead + elementOverhead*int64(len(args))
	if e.capacity.Used()+grows > e.capacity.limit && e.usage.stale {
		e.count(usage{used: e.measure(c)})
	}
	if e.capacity.Used()+grows > e.capacity.limit {
		return e.capacity.full()
	}
	e.count(usage{e.usage.used + grows, true})
	return ""
}

// count records the current usage, here and in the capacity.
func (e *embedded) count(now usage) {
	if e.stop.Err() == nil { // otherwise close has released all of it
		e.counted.Add(now.used - e.usage.used)
		e.capacity.used.Add(now.used - e.usage.used)
	}
	e.usage = now
}

// growthOf returns the largest number of bytes by which a command may grow the data.
func growthOf(c *connection, name string, args []string) int64 {
	total := int64(0)
	for _, a := range args[1:] {
		total += int64(len(a))
	}
	switch {
	case name == "MSET" || name == "MSETNX":
		total += int64(len(args)) / 2 * keyOverhead
	case name == "PFADD" || name == "PFMERGE":
		total += sketchSize
	case copyingCommands[name]:
		for _, a := range args {
			total += c.size(a)
		}
	case name == "BITOP" && len(args) > 2:
		for _, a := range args[2:] {
			total = max(total, c.size(a))
		}
	case (name == "SETRANGE" || name == "SETBIT") && len(args) > 1:
		n, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil || n < 0 {
			return total // the command reports the error
		}
		if name == "SETBIT" {
			n /= 8
		}
		total += max(0, min(n, math.MaxInt64/2)-c.size(args[0]))
		total -= int64(len(args[1])) // the offset is not stored
	}
	return total
}

// size returns the bytes that one key needs; 0 if it does not exist.
func (c *connection) size(key string) int64 {
	n, _ := c.look("MEMORY", "USAGE", key).(int64) // null if it does not exist
	return n
}

// look runs a command for internal use. Its reply takes none of the client's room.
func (c *connection) look(command ...string) any {
	room := c.out.left
	defer func() { c.out.left = room }()
	c.out.left = maxRecord + maxKey
	return c.dispatch(command)
}

// measure returns the bytes that all keys need.
func (e *embedded) measure(c *connection) (total int64) {
	for _, key := range e.redis.DB(0).Keys() {
		total += c.size(key) + int64(len(key)) + keyOverhead
	}
	return total
}
