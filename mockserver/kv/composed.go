package kv

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// composedCommands are commands that the library lacks, or has without some options. They run
// commands that it has, atomically, because the caller holds the lock. Sorted by name.
var composedCommands map[string]composition

// A composition implements a command. args are the arguments after its name.
type composition struct {
	least int // number of arguments
	run   func(e *embedded, c *connection, args []string) any
}

func init() { // breaks a cycle: composed commands may run others
	composedCommands = map[string]composition{
		"BITFIELD":       {1, bitField},
		"GEOADD":         {4, geoAdd},
		"GEODIST":        {3, geoDistance},
		"GEOHASH":        {1, geoHash},
		"GEOPOS":         {1, geoPositions},
		"GEOSEARCH":      {5, geoSearch},
		"GEOSEARCHSTORE": {6, geoSearchStore},
		"HEXPIRE":        {4, expireFields(time.Second, false)},
		"HEXPIREAT":      {4, expireFields(time.Second, true)},
		"HEXPIRETIME":    {3, fieldExpiry(time.Second)},
		"HGETDEL":        {3, getFieldsAnd(deleteFields)},
		"HGETEX":         {3, getFieldsAnd(expireRead)},
		"HPEXPIRE":       {4, expireFields(time.Millisecond, false)},
		"HPEXPIREAT":     {4, expireFields(time.Millisecond, true)},
		"HPEXPIRETIME":   {3, fieldExpiry(time.Millisecond)},
		"SCAN":           {1, scanTypes},
		"XACKDEL":        {4, ackDelete},
		"XADD":           {4, addEntry},
		"XAUTOCLAIM":     {5, autoClaim},
		"XDELEX":         {3, deleteEntries},
		"XGROUP":         {2, changeGroup},
		"XREADGROUP":     {6, readGroup},
		"ZDIFFSTORE":     {3, storeDifference},
	}
	for name, d := range documentCommands {
		composedCommands[name] = d
	}
}

// do counts the reply like that of a single command, so that composed commands cannot
// bypass the limit of replies.
func (k composition) do(e *embedded, c *connection, name string, args []string) any {
	if len(args) < k.least {
		return failure(fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name)))
	}
	reply := k.run(e, c, args)
	if c.out.left -= replySize(reply); c.out.left < 0 {
		return failure(errReplyTooLarge)
	}
	return reply
}

// replySize returns the minimum number of bytes of a reply.
func replySize(reply any) (n int) {
	switch v := reply.(type) {
	case string:
		return len(v)
	case []any:
		for _, item := range v {
			n += replySize(item)
		}
	}
	return n + 8
}

const (
	errSyntax  = failure("ERR syntax error")
	errInteger = failure("ERR value is not an integer or out of range")
)

// fieldsOf returns the names after FIELDS n, which are the last arguments, and the
// options before it.
func fieldsOf(args []string) (options, fields []string, err any) {
	at := slices.IndexFunc(args, func(s string) bool { return strings.EqualFold(s, "FIELDS") })
	if at < 0 || at+1 >= len(args) {
		return nil, nil, failure("ERR Mandatory argument FIELDS is missing or not at the right position")
	}
	n, parse := strconv.Atoi(args[at+1])
	if parse != nil || n <= 0 || n != len(args)-at-2 {
		return nil, nil, failure("ERR Parameter `numFields` should match the number of arguments")
	}
	return args[:at], args[at+2:], nil
}

// expireFields implements HEXPIRE and its variants: it sets the expiry of fields of a
// hash, relative to now or absolute, under a condition.
func expireFields(unit time.Duration, absolute bool) func(*embedded, *connection, []string) any {
	return func(e *embedded, c *connection, args []string) any {
		options, fields, err := fieldsOf(args[2:])
		if err != nil {
			return err
		}
		n, parse := strconv.ParseInt(args[1], 10, 64)
		if parse != nil || n < 0 || n > math.MaxInt64/int64(unit)/2 {
			return failure("ERR invalid expire time, must be >= 0")
		}
		if len(options) > 1 || len(options) == 1 && !wordSet("NX XX GT LT")[strings.ToUpper(options[0])] {
			return errSyntax
		}
		left := n * int64(unit/time.Millisecond)
		if absolute {
			left -= e.told.UnixMilli()
		}
		condition := strings.ToUpper(strings.Join(options, ""))
		replies := make([]any, len(fields))
		for i, field := range fields {
			replies[i] = e.expireField(c, args[0], field, left, condition)
			if f, failed := replies[i].(failure); failed {
				return f
			}
		}
		return replies
	}
}

// expireField sets the time to live of one field, in milliseconds. The reply is 1 for
// done, 2 for deleted at once, 0 if the condition does not hold, -2 if the field is missing.
func (e *embedded) expireField(c *connection, key, field string, left int64, condition string) any {
	value, ok := c.look("HGET", key, field).(string)
	if !ok {
		return fieldMissing(c.look("HGET", key, field))
	}
	was := fieldLifetime(c, key, field)
	holds := map[string]bool{"": true, "NX": was < 0, "XX": was >= 0, "GT": was >= 0 && left > was, "LT": was < 0 || left < was}
	if !holds[condition] {
		return int64(0)
	}
	if left <= 0 {
		c.look("HDEL", key, field)
		return int64(2)
	}
	if f, failed := e.do(c, []string{"HSETEX", key, "PX", strconv.FormatInt(left, 10), "FIELDS", "1", field, value}).(failure); failed {
		return f
	}
	return int64(1)
}

// fieldMissing returns -2, or the failure if the key is not a hash.
func fieldMissing(read any) any {
	if f, failed := read.(failure); failed {
		return f
	}
	return int64(-2)
}

// fieldLifetime returns the milliseconds until a field expires: -1 never, -2 if the field is missing.
func fieldLifetime(c *connection, key, field string) int64 {
	if list, ok := c.look("HPTTL", key, "FIELDS", "1", field).([]any); ok && len(list) == 1 {
		if n, ok := list[0].(int64); ok {
			return n
		}
	}
	return -2
}

// fieldExpiry implements HEXPIRETIME and HPEXPIRETIME: the time when fields expire.
func fieldExpiry(unit time.Duration) func(*embedded, *connection, []string) any {
	return func(e *embedded, c *connection, args []string) any {
		_, fields, err := fieldsOf(args[1:])
		if err != nil {
			return err
		}
		replies := make([]any, len(fields))
		for i, field := range fields {
			n := fieldLifetime(c, args[0], field)
			if n >= 0 {
				step := int64(unit / time.Millisecond)
				n = (e.told.UnixMilli() + n + step - 1) / step
			}
			replies[i] = n
		}
		return replies
	}
}

// getFieldsAnd reads fields of a hash, calls then, and replies with the values.
func getFieldsAnd(then func(e *embedded, c *connection, key string, options, fields []string) any) func(*embedded, *connection, []string) any {
	return func(e *embedded, c *connection, args []string) any {
		options, fields, err := fieldsOf(args[1:])
		if err != nil {
			return err
		}
		values := c.look(append([]string{"HMGET", args[0]}, fields...)...)
		if f, failed := values.(failure); failed {
			return f
		}
		if err := then(e, c, args[0], options, fields); err != nil {
			return err
		}
		return values
	}
}

// deleteFields is what HGETDEL does after reading.
func deleteFields(_ *embedded, c *connection, key string, options, fields []string) any {
	if len(options) > 0 {
		return errSyntax
	}
	c.look(append([]string{"HDEL", key}, fields...)...)
	return nil
}

// expireRead is what HGETEX does after reading.
func expireRead(e *embedded, c *connection, key string, options, fields []string) any {
	unit := map[string]time.Duration{"EX": time.Second, "EXAT": time.Second, "PX": time.Millisecond, "PXAT": time.Millisecond}
	switch {
	case len(options) == 0:
		return nil
	case len(options) == 1 && strings.EqualFold(options[0], "PERSIST"):
		c.look(append([]string{"HPERSIST", key, "FIELDS", strconv.Itoa(len(fields))}, fields...)...)
		return nil
	case len(options) != 2 || unit[strings.ToUpper(options[0])] == 0:
		return errSyntax
	}
	name := strings.ToUpper(options[0])
	expire := expireFields(unit[name], strings.HasSuffix(name, "AT"))
	if f, failed := expire(e, c, append([]string{key, options[1], "FIELDS", strconv.Itoa(len(fields))}, fields...)).(failure); failed {
		return f
	}
	return nil
}

// storeDifference implements ZDIFFSTORE.
func storeDifference(e *embedded, c *connection, args []string) any {
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 1 || n != len(args)-2 {
		return errSyntax
	}
	list := c.look("ZRANGE", args[2], "0", "-1", "WITHSCORES")
	first, ok := list.([]any)
	if !ok {
		return list
	}
	var members []any
	for pair := range slices.Chunk(first, 2) {
		elsewhere := slices.ContainsFunc(args[3:], func(key string) bool {
			return c.look("ZSCORE", key, fmt.Sprint(pair[0])) != nil
		})
		if !elsewhere {
			members = append(members, pair...)
		}
	}
	return e.storeScores(c, args[0], members)
}

// storeScores replaces a sorted set by members, each followed by its score, and
// returns their number.
func (e *embedded) storeScores(c *connection, key string, members []any) any {
	c.look("DEL", key)
	if len(members) == 0 {
		return int64(0)
	}
	add := []string{"ZADD", key}
	for i := 0; i+1 < len(members); i += 2 {
		add = append(add, fmt.Sprint(members[i+1]), fmt.Sprint(members[i]))
	}
	return e.do(c, add)
}

// scanTypes implements SCAN; with WITHTYPE, each key is followed by its type.
func scanTypes(_ *embedded, c *connection, args []string) any {
	at := slices.IndexFunc(args, func(s string) bool { return strings.EqualFold(s, "WITHTYPE") })
	if at < 1 {
		return c.dispatch(append([]string{"SCAN"}, args...))
	}
	reply := c.look(append([]string{"SCAN"}, slices.Delete(slices.Clone(args), at, at+1)...)...)
	page, ok := reply.([]any)
	if !ok || len(page) != 2 {
		return reply
	}
	keys, _ := page[1].([]any)
	typed := make([]any, 0, len(keys)*2)
	for _, key := range keys {
		kind, _ := c.look("TYPE", fmt.Sprint(key)).(status)
		typed = append(typed, key, string(kind))
	}
	return []any{page[0], typed}
}
