package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// entryIDs returns the arguments after IDS n, and the option before it.
func entryIDs(args []string) (keep string, ids []string, err any) {
	keep = "KEEPREF"
	if len(args) > 0 && !strings.EqualFold(args[0], "IDS") {
		keep, args = strings.ToUpper(args[0]), args[1:]
	}
	if !wordSet("KEEPREF DELREF ACKED")[keep] || len(args) < 3 || !strings.EqualFold(args[0], "IDS") {
		return "", nil, errSyntax
	}
	if n, parse := strconv.Atoi(args[1]); parse != nil || n != len(args)-2 {
		return "", nil, failure("ERR Parameter `numids` should match the number of arguments")
	}
	return keep, args[2:], nil
}

// deleteEntries implements XDELEX. The replies are 1 for deleted, 2 for kept because a
// group has not acknowledged the entry, -1 for a missing entry.
func deleteEntries(_ *embedded, c *connection, args []string) any {
	keep, ids, err := entryIDs(args[1:])
	if err != nil {
		return err
	}
	return eachEntry(ids, func(id string) any { return deleteEntry(c, args[0], id, keep) })
}

// ackDelete implements XACKDEL: it acknowledges entries and deletes them.
func ackDelete(_ *embedded, c *connection, args []string) any {
	keep, ids, err := entryIDs(args[2:])
	if err != nil {
		return err
	}
	return eachEntry(ids, func(id string) any {
		switch n := c.look("XACK", args[0], args[1], id); n {
		case int64(0):
			return int64(-1)
		case int64(1):
			if reply := deleteEntry(c, args[0], id, keep); reply != int64(-1) {
				return reply
			}
			return int64(1) // it was pending, but the entry was already deleted
		default:
			return n
		}
	})
}

// eachEntry stops at the first failure, which becomes the whole reply.
func eachEntry(ids []string, do func(id string) any) any {
	replies := make([]any, len(ids))
	for i, id := range ids {
		replies[i] = do(id)
		if f, failed := replies[i].(failure); failed {
			return f
		}
	}
	return replies
}

// deleteEntry deletes one entry; its replies are those of deleteEntries.
func deleteEntry(c *connection, key, id, keep string) any {
	for _, group := range groupNames(c, key) {
		switch keep {
		case "DELREF":
			c.look("XACK", key, group, id)
		case "ACKED":
			if pending, ok := c.look("XPENDING", key, group, id, id, "1").([]any); ok && len(pending) > 0 {
				return int64(2)
			}
		}
	}
	if n := c.look("XDEL", key, id); n != int64(0) {
		return n
	}
	return int64(-1)
}

// groupNames returns the names of the groups of a stream.
func groupNames(c *connection, key string) (names []string) {
	list, _ := c.look("XINFO", "GROUPS", key).([]any)
	for _, item := range list {
		if pairs, ok := item.([]any); ok && len(pairs) > 1 {
			names = append(names, fmt.Sprint(pairs[1])) // the name comes first
		}
	}
	return names
}

// indexOfWord returns the position of a word among arguments, or -1.
func indexOfWord(args []string, word string) int {
	return slices.IndexFunc(args, func(s string) bool { return strings.EqualFold(s, word) })
}

// addEntry implements XADD. It removes the LIMIT of an approximate trim, because the
// library trims exactly.
func addEntry(_ *embedded, c *connection, args []string) any {
	if at := indexOfWord(args, "LIMIT"); at == 4 && args[2] == "~" { // key MAXLEN ~ n LIMIT n
		args = slices.Delete(slices.Clone(args), at, at+2)
	} else if at == 5 && args[3] == "~" { // key NOMKSTREAM MAXLEN ~ n LIMIT n
		args = slices.Delete(slices.Clone(args), at, min(at+2, len(args)))
	}
	return c.dispatch(append([]string{"XADD"}, args...))
}

// autoClaim implements XAUTOCLAIM without the list of deleted entries in the reply,
// which later servers add and the service does not have.
func autoClaim(_ *embedded, c *connection, args []string) any {
	reply := c.dispatch(append([]string{"XAUTOCLAIM"}, args...))
	if list, ok := reply.([]any); ok && len(list) == 3 {
		return list[:2]
	}
	return reply
}

// changeGroup implements XGROUP. It moves a group by recreating it, which requires
// that the group has no pending entries.
func changeGroup(e *embedded, c *connection, args []string) any {
	if !strings.EqualFold(args[0], "SETID") || len(args) < 4 {
		return c.dispatch(append([]string{"XGROUP"}, args...))
	}
	key, group := args[1], args[2]
	if !slices.Contains(groupNames(c, key), group) {
		return failure(fmt.Sprintf("NOGROUP No such consumer group '%s' for key name '%s'", group, key))
	}
	if pending, ok := c.look("XPENDING", key, group, "-", "+", "1").([]any); ok && len(pending) > 0 {
		return failure("ERR XGROUP SETID: the embedded store moves only groups without pending entries")
	}
	members := consumerNames(c, key, group)
	c.look("XGROUP", "DESTROY", key, group)
	if reply := e.do(c, []string{"XGROUP", "CREATE", key, group, args[3]}); reply != status("OK") {
		return reply
	}
	for _, name := range members {
		c.look("XGROUP", "CREATECONSUMER", key, group, name)
	}
	return status("OK")
}

// consumerNames returns the names of the consumers of a group.
func consumerNames(c *connection, key, group string) (names []string) {
	list, _ := c.look("XINFO", "CONSUMERS", key, group).([]any)
	for _, item := range list {
		if pairs, ok := item.([]any); ok && len(pairs) > 1 {
			names = append(names, fmt.Sprint(pairs[1])) // the name comes first
		}
	}
	return names
}

// readGroup implements XREADGROUP. With NOACK nothing becomes pending, and the service
// then creates no consumer.
func readGroup(_ *embedded, c *connection, args []string) any {
	at, streams := indexOfWord(args, "NOACK"), indexOfWord(args, "STREAMS")
	silent := at > 2 && at < streams && strings.EqualFold(args[0], "GROUP")
	known := map[string]bool{}
	var keys []string
	if silent {
		keys = args[streams+1 : streams+1+(len(args)-streams-1)/2]
		for _, key := range keys {
			known[key] = slices.Contains(consumerNames(c, key, args[1]), args[2])
		}
	}
	reply := c.dispatch(append([]string{"XREADGROUP"}, args...))
	for _, key := range keys {
		if !known[key] {
			c.look("XGROUP", "DELCONSUMER", key, args[1], args[2])
		}
	}
	return reply
}
