package kv

import (
	"slices"
	"strconv"
	"strings"
)

// keyRange are the positions of the keys in a command. A negative last counts from the end.
type keyRange struct{ first, last, step int }

// keyRanges are the positions of keys by command. A command without a row has one key,
// its first argument.
var keyRanges = rangesOf(map[keyRange]string{
	{0, -1, 0}: `COMMAND DBSIZE ECHO EVAL EVALSHA EVALSHA_RO EVAL_RO FLUSHALL FLUSHDB INFO KEYS LASTSAVE LMPOP MEMORY PING SCAN
		SCRIPT SINTERCARD TIME XREAD XREADGROUP ZDIFF ZINTER ZINTERCARD ZMPOP ZUNION`, // none, or those of keyPlaces
	{1, -1, 1}: `DEL EXISTS MGET PFCOUNT PFMERGE SDIFF SDIFFSTORE SINTER SINTERSTORE SUNION SUNIONSTORE TOUCH UNLINK`,
	{1, -1, 2}: `MSET MSETNX`,
	{1, -1, 3}: `JSON.MSET`,
	{1, -2, 1}: `JSON.MGET`,
	{1, 2, 1}:  `COPY GEOSEARCHSTORE LCS LMOVE RENAME RENAMENX RPOPLPUSH SMOVE ZRANGESTORE`,
	{2, 2, 1}:  `OBJECT XGROUP XINFO`, // after a subcommand
	{2, -1, 1}: `BITOP`,
})

func rangesOf(rows map[keyRange]string) map[string]keyRange {
	ranges := map[string]keyRange{}
	for r, names := range rows {
		for name := range strings.FieldsSeq(names) {
			ranges[name] = r
		}
	}
	return ranges
}

// foreignCommands concern the whole server, or keys that are unknown. Sorted by name.
var foreignCommands = wordSet(`FCALL FCALL_RO FUNCTION LATENCY MOVE RANDOMKEY SLOWLOG`)

// countedKeys are commands with an argument that is the number of keys after it: the
// position of that argument. Sorted by name.
var countedKeys = map[string]int{
	"EVAL": 2, "EVALSHA": 2, "EVALSHA_RO": 2, "EVAL_RO": 2, "LMPOP": 1, "SINTERCARD": 1, "ZDIFF": 1, "ZDIFFSTORE": 2,
	"ZINTER": 1, "ZINTERCARD": 1, "ZINTERSTORE": 2, "ZMPOP": 1, "ZUNION": 1, "ZUNIONSTORE": 2,
}

// prefixCommand returns a command with the prefix before its keys, and with a script
// that the server can read. ok is false for a command whose keys are unknown, or that
// concerns the whole server.
func prefixCommand(prefix string, command []string) (out []string, ok bool) {
	name := strings.ToUpper(command[0])
	out = slices.Clone(command)
	for _, i := range keyPlaces(name, command) {
		out[i] = prefix + out[i]
	}
	switch {
	case name == "KEYS" && len(out) > 1:
		out[1] = globQuoted(prefix) + out[1]
	case name == "SCAN":
		out = scanWithin(prefix, command)
	case (name == "EVAL" || name == "EVAL_RO") && len(out) > 1:
		out[1] = plainScript(out[1])
	case name == "SCRIPT" && len(out) > 2:
		out[2] = plainScript(out[2])
	}
	return out, prefix == "" || !foreignCommands[name]
}

// keyPlaces returns the positions of the keys in a command.
func keyPlaces(name string, command []string) (places []int) {
	keys, ok := keyRanges[name]
	if !ok {
		keys = keyRange{1, 1, 1}
	}
	last := keys.last
	if last < 0 {
		last += len(command)
	}
	for i := keys.first; i > 0 && i <= min(last, len(command)-1); i += keys.step {
		places = append(places, i)
	}
	if at := countedKeys[name]; at > 0 && at < len(command) {
		n, _ := strconv.Atoi(command[at]) // the server reports an error
		for i := at + 1; i <= at+n && n < len(command)-at; i++ {
			places = append(places, i)
		}
	}
	for i, word := range command {
		switch upper := strings.ToUpper(word); {
		case upper == "STREAMS" && (name == "XREAD" || name == "XREADGROUP" && i > 3): // a group may have this name
			for j := range (len(command) - i - 1) / 2 {
				places = append(places, i+1+j)
			}
			return places
		case upper == "USAGE" && name == "MEMORY" && len(command) > 2:
			return []int{2}
		case (upper == "STORE" || upper == "STOREDIST") && i > 1 && i+1 < len(command) && storeKeys[name]:
			places = append(places, i+1)
		}
	}
	return places
}

var storeKeys = wordSet(`GEORADIUS GEORADIUSBYMEMBER SORT`) // STORE KEY

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
