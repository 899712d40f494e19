package kv

import (
	"fmt"
	"math"
	"math/big"
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
	maxRepeats      = 1_000_000 // members that one command may pick with repetition
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
var growingCommands = wordSet(`APPEND BITOP COPY DECR DECRBY GEOADD GEORADIUS GEORADIUSBYMEMBER GETSET HINCRBY HINCRBYFLOAT HMSET HSET
	HSETEX HSETNX INCR INCRBY INCRBYFLOAT LINSERT LMOVE LPUSH LPUSHX LSET MSET MSETNX PFADD PFMERGE PSETEX PUBLISH RENAME RENAMENX
	RESTORE RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET SETBIT SETEX SETNX SETRANGE SINTERSTORE SMOVE SUNIONSTORE XADD
	XAUTOCLAIM XCLAIM XGROUP XREADGROUP ZADD ZINCRBY ZINTERSTORE ZUNIONSTORE`)

// copyingCommands are the growing commands that copy the values of other keys.
var copyingCommands = wordSet(`COPY GEORADIUS GEORADIUSBYMEMBER SDIFFSTORE SINTERSTORE SUNIONSTORE ZINTERSTORE ZUNIONSTORE`)

// usage is an upper bound of the memory that the data need, in bytes.
type usage struct {
	used  int64
	stale bool // something has changed since it was measured
}

// admit returns why a command must be refused, or "". It estimates growth from the
// size of the command; only when that reaches a limit, it measures the data.
func (e *embedded) admit(c *connection, name string, args []string) string {
	if check := boundChecks[name]; check != nil {
		if text := check(c, args); text != "" {
			return text
		}
	}
	if !growingCommands[name] || len(args) == 0 {
		e.usage.stale = e.usage.stale || !readOnlyCommands[name]
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

// boundChecks refuse what the library would do without a limit. Sorted by name.
var boundChecks = map[string]func(c *connection, args []string) string{
	"APPEND":       checkAppend,
	"COPY":         checkCopy,
	"HINCRBYFLOAT": func(c *connection, args []string) string { return checkFloat(c, "HGET", args) },
	"HRANDFIELD":   checkRepeats,
	"INCRBYFLOAT":  func(c *connection, args []string) string { return checkFloat(c, "GET", args) },
	"MOVE":         func(*connection, []string) string { return "ERR Command is not available: 'MOVE'" },
	"SRANDMEMBER":  checkRepeats,
	"ZRANDMEMBER":  checkRepeats,
}

// checkAppend refuses a value that would become too long.
func checkAppend(c *connection, args []string) string {
	if len(args) == 2 {
		if n, _ := c.look("STRLEN", args[0]).(int64); n+int64(len(args[1])) > maxRecord {
			return errRecordTooLarge
		}
	}
	return ""
}

// checkCopy refuses another database: there is only one.
func checkCopy(_ *connection, args []string) string {
	if len(args) > 2 && !(len(args) == 3 && strings.EqualFold(args[2], "REPLACE")) {
		return "ERR COPY takes a source, a destination and REPLACE; there is one database only"
	}
	return ""
}

// checkRepeats refuses a negative count, which picks members with repetition,
// beyond maxRepeats.
func checkRepeats(_ *connection, args []string) string {
	if len(args) > 1 {
		if n, err := strconv.ParseInt(args[1], 10, 64); err == nil && n < -maxRepeats {
			return fmt.Sprintf("ERR value is out of range: count %d must be at least -%d", n, maxRepeats)
		}
	}
	return ""
}

// checkFloat refuses an increment or a stored value with an exponent so large that
// the number would be written with many megabytes of digits.
func checkFloat(c *connection, read string, args []string) string {
	if len(args) < 2 {
		return ""
	}
	key := args[:len(args)-1]
	was, _ := c.look(append([]string{read}, key...)...).(string)
	for _, text := range []string{was, args[len(args)-1]} {
		f, _, err := big.ParseFloat(text, 10, 128, big.ToNearestEven)
		if err == nil && !f.IsInf() && f.MantExp(nil) > maxExponent {
			return "ERR value is not a valid float"
		}
	}
	return ""
}

// maxExponent is the largest binary exponent of numbers in the original server.
const maxExponent = 16384
