package kv

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	used     int64
	measured int64 // used when it was measured last
	stale    bool  // elements may have been removed since
}

// numbersOfFloats are the commands that add to a number of any size.
var numbersOfFloats = map[string]string{"HINCRBYFLOAT": "HGET", "INCRBYFLOAT": "GET"}

// hugeExponent matches numbers that would be written with many megabytes of digits.
var hugeExponent = regexp.MustCompile(`[eEpP][-+]?\d{5,}`)

// maxRepeats is how many members one command may pick with repetition.
const maxRepeats = 1_000_000

// admit returns why a command must be refused, or "". It estimates growth from the size of the
// command. It measures the data only where the estimate reaches the limit and may be too high:
// after a removal of elements, or growth by a sixteenth of the limit since the last time.
func (e *embedded) admit(c *connection, name string, args []string) string {
	if read := numbersOfFloats[name]; read != "" && len(args) > 1 {
		was, _ := e.look(c, append([]string{read}, args[:len(args)-1]...)...).(string)
		if hugeExponent.MatchString(was) || hugeExponent.MatchString(args[len(args)-1]) {
			return "ERR value is not a valid float"
		}
	}
	if len(args) > 1 && (strings.HasSuffix(name, "RANDFIELD") || strings.HasSuffix(name, "RANDMEMBER")) {
		if n, err := strconv.ParseInt(args[1], 10, 64); err == nil && n < -maxRepeats {
			return fmt.Sprintf("ERR value is out of range: count %d must be at least -%d", n, maxRepeats)
		}
	}
	if !growingCommands[name] || len(args) == 0 {
		switch name {
		case "DEL", "GETDEL", "UNLINK":
			e.release(c, args...)
		default:
			e.usage.stale = e.usage.stale || !e.server.IsReadOnlyCommand(name)
		}
		return ""
	}
	if n := len(args[0]); n > maxKey {
		return fmt.Sprintf("ERR max key size exceeded. Limit: %d bytes, Actual: %d bytes", maxKey, n)
	}
	grows := e.growthOf(c, name, args)
	if grows > maxRecord || e.usage.used+grows > maxRecord && e.size(c, args[0])+grows > maxRecord+keyOverhead {
		return errRecordTooLarge
	}
	grows += keyOverhead + elementOverhead*int64(len(args))
	if e.capacity.Used()+grows > e.capacity.limit && (e.usage.stale || e.usage.used-e.usage.measured >= e.capacity.limit/16) {
		used := e.measure(c)
		e.count(usage{used: used, measured: used})
	}
	if e.capacity.Used()+grows > e.capacity.limit {
		return fmt.Sprintf("ERR DB capacity quota exceeded. Limit: %d bytes", e.capacity.limit)
	}
	e.count(usage{e.usage.used + grows, e.usage.measured, e.usage.stale})
	return ""
}

// release subtracts keys that are removed.
func (e *embedded) release(c *connection, keys ...string) {
	now := e.usage
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		if size := e.size(c, key); size > 0 {
			now.used = max(0, now.used-size-int64(len(key)))
		}
	}
	e.count(now)
}

// count records the current usage, here and in the capacity.
func (e *embedded) count(now usage) {
	e.counted.Add(now.used - e.usage.used)
	e.capacity.used.Add(now.used - e.usage.used)
	e.usage = now
}

// growthOf returns the largest number of bytes by which a command may grow the data.
func (e *embedded) growthOf(c *connection, name string, args []string) int64 {
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
			total += e.size(c, a)
		}
	case name == "BITOP" && len(args) > 2:
		for _, a := range args[2:] {
			total = max(total, e.size(c, a))
		}
	case (name == "SETRANGE" || name == "SETBIT") && len(args) > 1:
		n, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil || n < 0 {
			return total // the command reports the error
		}
		if name == "SETBIT" {
			n /= 8
		}
		total += max(0, min(n, math.MaxInt64/2)-e.size(c, args[0]))
		total -= int64(len(args[1])) // the offset is not stored
	}
	return total
}

// size returns the bytes that one key needs; 0 if it does not exist.
func (e *embedded) size(c *connection, key string) int64 {
	n, _ := e.look(c, "MEMORY", "USAGE", key).(int64) // null if it does not exist
	return n
}

// look runs a command for internal use. Its reply takes none of the client's room.
func (e *embedded) look(c *connection, command ...string) any {
	room := c.out.left
	defer func() { c.out.left = room }()
	c.out.left = maxRecord + maxKey
	return e.dispatch(c, command)
}

// measure returns the bytes that all keys need.
func (e *embedded) measure(c *connection) (total int64) {
	for _, key := range e.redis.DB(0).Keys() {
		total += e.size(c, key) + int64(len(key)) + keyOverhead
	}
	return total
}
