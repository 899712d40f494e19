package kv

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync/atomic"
)

// Bounds of the embedded store in bytes. Those of keys, values and requests are
// the service's published ones; so is the capacity, which is that of its free
// databases.
const (
	maxKey          = 32 << 10
	maxRecord       = 100 << 20 // a value with all of its elements
	defaultCapacity = 256 << 20 // everything
	maxReplies      = 32 << 20  // what one request may answer
	maxRepeats      = 1_000_000 // members that one command may pick, the same one repeatedly
)

// Capacity is what embedded stores may hold together.
type Capacity struct {
	limit int64
	used  atomic.Int64
}

// NewCapacity is a capacity of limit bytes, for one store or for several.
func NewCapacity(limit int64) *Capacity { return &Capacity{limit: limit} }

// Used is how many bytes the stores hold at most.
func (c *Capacity) Used() int64 { return c.used.Load() }

// full is the refusal of a command for which there is no room.
func (c *Capacity) full() string {
	return fmt.Sprintf("ERR DB capacity quota exceeded. Limit: %d bytes", c.limit)
}

const (
	errReplyTooLarge  = "ERR max request size exceeded. The reply is over 33554432 bytes; read it in parts"
	errRecordTooLarge = "ERR max single record size exceeded. Limit: 104857600 bytes"
)

// What is needed beside the bytes that a command brings.
const (
	keyOverhead     = 512      // of a key
	elementOverhead = 64       // of an element of a list, set, ...
	sketchSize      = 16 << 10 // of a HyperLogLog
)

// growingCommands are the commands that may need more memory; they are refused when
// there is none. Sorted by name.
var growingCommands = wordSet(`APPEND BITOP COPY DECR DECRBY GEOADD GEORADIUS GEORADIUSBYMEMBER GETSET HINCRBY HINCRBYFLOAT HMSET HSET
	HSETEX HSETNX INCR INCRBY INCRBYFLOAT LINSERT LMOVE LPUSH LPUSHX LSET MSET MSETNX PFADD PFMERGE PSETEX PUBLISH RENAME RENAMENX
	RESTORE RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET SETBIT SETEX SETNX SETRANGE SINTERSTORE SMOVE SUNIONSTORE XADD
	XAUTOCLAIM XCLAIM XGROUP XREADGROUP ZADD ZINCRBY ZINTERSTORE ZUNIONSTORE`)

// copyingCommands are the growing commands that copy what other keys hold.
var copyingCommands = wordSet(`COPY GEORADIUS GEORADIUSBYMEMBER SDIFFSTORE SINTERSTORE SUNIONSTORE ZINTERSTORE ZUNIONSTORE`)

// usage is how much memory the data need at most, in bytes.
type usage struct {
	used  int64
	stale bool // something has changed since it was measured
}

// admit says why a command has to be refused, or "". Growth is counted by what
// the command brings; only when that reaches a bound, the data are measured.
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

// count takes note of what the data need now.
func (e *embedded) count(now usage) {
	if e.stop.Err() == nil { // else all of it has been given back
		e.counted.Add(now.used - e.usage.used)
		e.capacity.used.Add(now.used - e.usage.used)
	}
	e.usage = now
}

// growthOf is by how much a command may enlarge the data, at most.
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
			return total // the command says so
		}
		if name == "SETBIT" {
			n /= 8
		}
		total += max(0, min(n, math.MaxInt64/2)-c.size(args[0]))
		total -= int64(len(args[1])) // the offset is not stored
	}
	return total
}

// size is what one key needs.
func (c *connection) size(key string) int64 {
	n, _ := c.look("MEMORY", "USAGE", key).(int64) // null: there is none
	return n
}

// look runs a command for this side: it takes none of the client's room.
func (c *connection) look(command ...string) any {
	room := c.out.left
	defer func() { c.out.left = room }()
	c.out.left = maxRecord + maxKey
	return c.dispatch(command)
}

// measure looks at all keys.
func (e *embedded) measure(c *connection) (total int64) {
	for _, key := range e.redis.DB(0).Keys() {
		total += c.size(key) + int64(len(key)) + keyOverhead
	}
	return total
}

// boundChecks refuse what the library would try without a bound. Sorted by name.
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

// checkAppend refuses a value that becomes too long.
func checkAppend(c *connection, args []string) string {
	if len(args) == 2 {
		if n, _ := c.look("STRLEN", args[0]).(int64); n+int64(len(args[1])) > maxRecord {
			return errRecordTooLarge
		}
	}
	return ""
}

// checkCopy refuses another database: there is one.
func checkCopy(_ *connection, args []string) string {
	if len(args) > 2 && !(len(args) == 3 && strings.EqualFold(args[2], "REPLACE")) {
		return "ERR COPY takes a source, a destination and REPLACE; there is one database only"
	}
	return ""
}

// checkRepeats refuses a negative count, which may pick one member repeatedly,
// beyond the bound.
func checkRepeats(_ *connection, args []string) string {
	if len(args) > 1 {
		if n, err := strconv.ParseInt(args[1], 10, 64); err == nil && n < -maxRepeats {
			return fmt.Sprintf("ERR value is out of range: count %d must be at least -%d", n, maxRepeats)
		}
	}
	return ""
}

// checkFloat refuses numbers whose exponent makes them many megabytes long when
// they are written out: the increment, and the value that is there.
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

// maxExponent is the largest binary exponent of the numbers of the original
// server.
const maxExponent = 16384
