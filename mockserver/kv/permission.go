package kv

import (
	"fmt"
	"slices"
	"strings"
)

// unavailableCommands are commands that need a connection of the client, block, or are
// for operators of the server. Sorted by name.
var unavailableCommands = wordSet(`ACL AUTH BGREWRITEAOF BGSAVE BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP
	BZPOPMAX BZPOPMIN CLIENT CLUSTER CONFIG DEBUG DISCARD EXEC FAILOVER HELLO MIGRATE MODULE MONITOR
	MULTI PSUBSCRIBE PSYNC PUNSUBSCRIBE QUIT READONLY READWRITE REPLICAOF RESET SAVE SELECT SHUTDOWN
	SLAVEOF SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SWAPDB SYNC UNSUBSCRIBE UNWATCH WAIT WAITAOF WATCH`)

// readOnlyCommands are the commands that a read-only token may use: those that change
// nothing, without KEYS and SCAN (wire.md, "Key-value REST interface"). Sorted by name.
var readOnlyCommands = wordSet(`BITCOUNT BITFIELD_RO BITPOS COMMAND DBSIZE DUMP ECHO EXISTS EXPIRETIME GEODIST GEOHASH
	GEOPOS GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH GET GETBIT GETRANGE HEXISTS HEXPIRETIME HGET HGETALL HKEYS HLEN
	HMGET HPEXPIRETIME HPTTL HRANDFIELD HSCAN HSTRLEN HTTL HVALS INFO JSON.ARRINDEX JSON.ARRLEN JSON.GET JSON.MGET JSON.OBJKEYS
	JSON.OBJLEN JSON.RESP JSON.STRLEN JSON.TYPE LCS LINDEX LLEN LPOS LRANGE MEMORY MGET OBJECT PEXPIRETIME
	PFCOUNT PING PTTL RANDOMKEY SCARD SDIFF SINTER SINTERCARD SISMEMBER SMEMBERS SMISMEMBER SRANDMEMBER
	SSCAN STRLEN SUBSTR SUNION TIME TOUCH TTL TYPE XINFO XLEN XPENDING XRANGE XREAD XREVRANGE ZCARD ZCOUNT
	ZDIFF ZINTER ZINTERCARD ZLEXCOUNT ZMSCORE ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE
	ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// refusalOf returns why a command must not run, or "".
func refusalOf(command []string, readOnly bool) string {
	name := strings.ToUpper(command[0])
	blocks := (name == "XREAD" || name == "XREADGROUP") &&
		slices.ContainsFunc(command[1:], func(s string) bool { return strings.EqualFold(s, "BLOCK") })
	switch {
	case name == "":
		return "ERR empty command"
	case unavailableCommands[name] || blocks:
		return fmt.Sprintf("ERR Command is not available: '%s'", name)
	case readOnly && !readOnlyCommands[name]:
		return fmt.Sprintf("NOPERM this user has no permissions to run the '%s' command or its subcommand", strings.ToLower(name))
	}
	return ""
}
