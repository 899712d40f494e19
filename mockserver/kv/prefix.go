package kv

import (
	"slices"
	"strconv"
	"strings"
)

// The positions of the keys in commands. A command in none of these sets has one key,
// its first argument. Sorted by name.
var (
	keylessCommands = wordSet(`COMMAND ECHO INFO LASTSAVE PING SCRIPT TIME`)
	allKeys         = wordSet(`DEL EXISTS MGET PFCOUNT PFMERGE SDIFF SDIFFSTORE SINTER SINTERSTORE SUNION SUNIONSTORE TOUCH UNLINK`)
	pairedKeys      = wordSet(`MSET MSETNX`)
	twoKeys         = wordSet(`COPY GEOSEARCHSTORE LCS LMOVE RENAME RENAMENX RPOPLPUSH SMOVE ZRANGESTORE`)
	secondKeys      = wordSet(`OBJECT XGROUP XINFO`) // after a subcommand
	streamKeys      = wordSet(`XREAD XREADGROUP`)
	storeKeys       = wordSet(`GEORADIUS GEORADIUSBYMEMBER SORT`) // STORE KEY
	foreignCommands = wordSet(`FCALL FCALL_RO FUNCTION LATENCY MOVE RANDOMKEY SLOWLOG`)
)

// countedKeys are commands with an argument that is the number of keys: the position
// of that argument. Sorted by name.
var countedKeys = map[string]int{
	"EVAL": 1, "EVALSHA": 1, "EVALSHA_RO": 1, "EVAL_RO": 1, "LMPOP": 0, "SINTERCARD": 0, "ZDIFF": 0, "ZDIFFSTORE": 1,
	"ZINTER": 0, "ZINTERCARD": 0, "ZINTERSTORE": 1, "ZMPOP": 0, "ZUNION": 0, "ZUNIONSTORE": 1,
}

// prefixCommand returns a command with the prefix before its keys. ok is false for a
// command whose keys are unknown, or that concerns the whole server.
func prefixCommand(prefix string, command []string) (out []string, ok bool) {
	name := strings.ToUpper(command[0])
	if foreignCommands[name] {
		return nil, false
	}
	out = slices.Clone(command)
	for _, i := range keyPlaces(name, command) {
		out[i] = prefix + out[i]
	}
	switch name {
	case "KEYS":
		if len(out) > 1 {
			out[1] = globQuoted(prefix) + command[1]
		}
	case "SCAN":
		out = scanWithin(prefix, command)
	}
	return out, true
}

// keyPlaces returns the positions of the keys in a command.
func keyPlaces(name string, command []string) (places []int) {
	from, to, step := 1, 2, 1
	number, counted := countedKeys[name]
	switch {
	case keylessCommands[name] || name == "KEYS" || name == "SCAN" || name == "DBSIZE" || name == "FLUSHALL" || name == "FLUSHDB":
		return nil
	case allKeys[name]:
		to = len(command)
	case pairedKeys[name]:
		to, step = len(command), 2
	case name == "JSON.MSET":
		to, step = len(command), 3
	case name == "JSON.MGET":
		to = len(command) - 1 // the path comes last
	case twoKeys[name]:
		to = 3
	case secondKeys[name]:
		from, to = 2, 3
	case name == "MEMORY" && len(command) > 1 && strings.EqualFold(command[1], "USAGE"):
		from, to = 2, 3
	case name == "MEMORY":
		return nil
	case name == "BITOP":
		from, to = 2, len(command)
	case streamKeys[name]:
		at := slices.IndexFunc(command, func(s string) bool { return strings.EqualFold(s, "STREAMS") })
		if at < 0 {
			return nil
		}
		from, to = at+1, at+1+(len(command)-at-1)/2
	case counted:
		if strings.HasSuffix(name, "STORE") {
			places = []int{1}
		}
		if len(command) < number+2 {
			return nil
		}
		n, err := strconv.Atoi(command[number+1])
		if err != nil || n < 0 || n > len(command)-number-2 {
			return nil // the server reports the error
		}
		from, to = number+2, number+2+n
	case storeKeys[name]:
		for i := 2; i+1 < len(command); i++ {
			if strings.EqualFold(command[i], "STORE") || strings.EqualFold(command[i], "STOREDIST") {
				places = append(places, i+1)
			}
		}
	}
	for i := from; i < min(to, len(command)); i += step {
		places = append(places, i)
	}
	return places
}

// scanWithin limits SCAN to keys with the prefix.
func scanWithin(prefix string, command []string) []string {
	out, matched := slices.Clone(command), false
	for i := 2; i+1 < len(out); i += 2 {
		if strings.EqualFold(out[i], "MATCH") {
			out[i+1], matched = globQuoted(prefix)+out[i+1], true
		}
	}
	if !matched && len(out) > 1 {
		out = slices.Insert(out, 2, "MATCH", globQuoted(prefix)+"*")
	}
	return out
}

// globQuoted returns a pattern that matches only the text.
func globQuoted(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}

// stripPrefix removes the prefix from the keys in a reply.
func stripPrefix(prefix string, command []string, reply any) any {
	list, ok := reply.([]any)
	if !ok || prefix == "" {
		return reply
	}
	cut := func(v any) any {
		if text, ok := v.(string); ok {
			return strings.TrimPrefix(text, prefix)
		}
		return v
	}
	switch strings.ToUpper(command[0]) {
	case "KEYS":
		for i := range list {
			list[i] = cut(list[i])
		}
	case "SCAN":
		if len(list) == 2 {
			list[1] = stripPrefix(prefix, []string{"KEYS"}, list[1])
		}
	case "LMPOP", "ZMPOP":
		if len(list) > 0 {
			list[0] = cut(list[0])
		}
	case "XREAD", "XREADGROUP":
		for _, stream := range list {
			if pair, ok := stream.([]any); ok && len(pair) > 0 {
				pair[0] = cut(pair[0])
			}
		}
	}
	return list
}
