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

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// refusalOf returns why a command must not run with any backend, or "".
func refusalOf(command []string) string {
	name := strings.ToUpper(command[0])
	blocks := strings.HasPrefix(name, "XREAD") && slices.ContainsFunc(command[1:], func(s string) bool { return strings.EqualFold(s, "BLOCK") })
	switch {
	case name == "":
		return "ERR empty command"
	case unavailableCommands[name] || blocks:
		return notAvailable(name)
	}
	return ""
}

func notAvailable(name string) string { return fmt.Sprintf("ERR Command is not available: '%s'", name) }
