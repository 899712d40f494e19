package kv

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// realCommands are commands of the library that reply otherwise than a real server,
// or that no test compares with one. Sorted by name.
var realCommands = wordSet(`BITPOS COMMAND DELEX DUMP GEOADD GEODIST GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO
	GEOSEARCH HEXPIRE HPERSIST HPTTL HSETEX HTTL INFO MEMORY MOVE OBJECT PUBSUB RESTORE XAUTOCLAIM XINFO`)

// realOptions are options that the library lacks, by command: the arguments among which
// they are, and their names. Sorted by name.
var realOptions = map[string]struct {
	from, to int
	names    map[string]bool
}{
	"BITCOUNT": {3, 4, wordSet("BIT BYTE")},
	"COPY":     {2, 4, wordSet("DB")}, // there is one database
	"FLUSHALL": {0, 1, wordSet("SYNC")},
	"FLUSHDB":  {0, 1, wordSet("SYNC")},
	"SCRIPT":   {0, 1, wordSet("DEBUG KILL")},
	"XGROUP":   {0, 1, wordSet("SETID")},
}

// lacks returns the refusal of a command or option that only a real server has, or "".
func (e *embedded) lacks(name string, args []string) string {
	if realCommands[name] || !e.server.IsRegisteredCommand(name) {
		return realOnly("command '" + oneLine(name) + "'")
	}
	if i := slices.Index(args, "~"); name == "XADD" && i >= 2 && i <= 3 && len(args) > i+2 && strings.EqualFold(args[i+2], "LIMIT") {
		return realOnly("option 'LIMIT' of XADD") // the library trims exactly
	}
	options := realOptions[name]
	for i := options.from; i < min(options.to, len(args)); i++ {
		if options.names[strings.ToUpper(args[i])] {
			return realOnly("option '" + args[i] + "' of " + name)
		}
	}
	return ""
}

func realOnly(what string) string {
	return "ERR unknown " + what + ": the embedded store does not have it; start the server with --kv-url redis://HOST:PORT to use a real one"
}

// adaptedCommands are commands whose reply or effect in the library differs from that
// of a real server. Sorted by name.
var adaptedCommands = map[string]func(c *connection, command []string) any{
	"EXPIRETIME":  roundSeconds,
	"GETEX":       getString,
	"SDIFFSTORE":  storeNoneEmpty,
	"SINTERSTORE": storeNoneEmpty,
	"SUNIONSTORE": storeNoneEmpty,
	"TTL":         roundSeconds,
	"XADD":        addEntry,
	"XRANGE":      readNoEntries,
	"XREVRANGE":   readNoEntries,
	"ZINTERSTORE": storeNoneEmpty,
	"ZPOPMAX":     popNone,
	"ZPOPMIN":     popNone,
	"ZUNIONSTORE": storeNoneEmpty,
}

// roundSeconds runs the same command in milliseconds and rounds to the nearest second.
func roundSeconds(c *connection, command []string) any {
	reply := c.dispatch(append([]string{"P" + command[0]}, command[1:]...))
	if ms, ok := reply.(int64); ok && ms >= 0 {
		return (ms + 500) / 1000
	}
	return reply
}

// storeNoneEmpty deletes the destination if the result is empty.
func storeNoneEmpty(c *connection, command []string) any {
	reply := c.dispatch(command)
	if reply == int64(0) {
		c.look("DEL", command[1])
	}
	return reply
}

// getString changes no expiry of a value that is not a string.
func getString(c *connection, command []string) any {
	if text, failed := c.look("GET", command[1]).(failure); failed {
		return text
	}
	return c.dispatch(command)
}

// addEntry creates no stream if it fails.
func addEntry(c *connection, command []string) any {
	missing := c.look("EXISTS", command[1]) == int64(0)
	reply := c.dispatch(command)
	if _, failed := reply.(failure); failed && missing {
		c.look("DEL", command[1])
	}
	return reply
}

// popNone pops nothing for the count 0.
func popNone(c *connection, command []string) any {
	if len(command) == 3 && command[2] == "0" {
		command = []string{"ZRANGE", command[1], "1", "0"} // checks the type of the key
	}
	return c.dispatch(command)
}

// readNoEntries replies null for COUNT 0.
func readNoEntries(c *connection, command []string) any {
	reply := c.dispatch(command)
	if list, ok := reply.([]any); ok && len(list) > 0 && len(command) == 6 && command[5] == "0" {
		return nil
	}
	return reply
}

// argumentChecks refuse arguments that the library accepts and a real server does not,
// or with which the library would need memory or time without a limit. Sorted by name.
var argumentChecks = map[string]func(e *embedded, c *connection, name string, args []string) string{
	"EXPIRE":       checkExpiry,
	"EXPIREAT":     checkExpiry,
	"GETEX":        checkOptions,
	"HINCRBY":      checkSum,
	"HINCRBYFLOAT": checkFloat,
	"HRANDFIELD":   checkRepeats,
	"HSCAN":        checkCount,
	"INCRBYFLOAT":  checkFloat,
	"PEXPIRE":      checkExpiry,
	"PEXPIREAT":    checkExpiry,
	"PFADD":        checkElements,
	"PSETEX":       checkExpiry,
	"SET":          checkOptions,
	"SETEX":        checkExpiry,
	"SRANDMEMBER":  checkRepeats,
	"SSCAN":        checkCount,
	"ZADD":         checkScores,
	"ZINCRBY":      checkScores,
	"ZRANDMEMBER":  checkRepeats,
	"ZSCAN":        checkCount,
}

const (
	errSyntax = "ERR syntax error"
	errFloat  = "ERR value is not a valid float"
)

// checkCount refuses COUNT 0 of a scan.
func checkCount(_ *embedded, _ *connection, _ string, args []string) string {
	if i := slices.IndexFunc(args, func(s string) bool { return strings.EqualFold(s, "COUNT") }); i > 1 && i+1 < len(args) && args[i+1] == "0" {
		return errSyntax
	}
	return ""
}

func checkElements(_ *embedded, _ *connection, _ string, args []string) string {
	if len(args) == 1 {
		return "ERR wrong number of arguments for 'pfadd' command: the embedded store needs an element"
	}
	return ""
}

// maxRepeats is how many members one command may pick with repetition.
const maxRepeats = 1_000_000

// checkRepeats refuses a negative count, which picks members with repetition, beyond
// maxRepeats.
func checkRepeats(_ *embedded, _ *connection, _ string, args []string) string {
	if len(args) > 1 {
		if n, err := strconv.ParseInt(args[1], 10, 64); err == nil && n < -maxRepeats {
			return fmt.Sprintf("ERR value is out of range: count %d must be at least -%d", n, maxRepeats)
		}
	}
	return ""
}

// exclusiveOptions are options of SET and GETEX by group: a command has at most one of
// a group. Those of group 1 determine the expiry. Sorted by name.
var exclusiveOptions = map[string]int{"EX": 1, "EXAT": 1, "KEEPTTL": 1, "NX": 2, "PERSIST": 1, "PX": 1, "PXAT": 1, "XX": 2}

// checkOptions checks the options of SET and GETEX.
func checkOptions(e *embedded, c *connection, name string, args []string) string {
	first := map[string]int{"GETEX": 1, "SET": 2}[name]
	seen := map[int]bool{}
	for i := first; i < len(args); i++ {
		option := strings.ToUpper(args[i])
		group := exclusiveOptions[option]
		if seen[group] {
			return errSyntax
		}
		seen[group] = group > 0
		if group == 1 {
			if text := checkExpiry(e, c, option, args[i:]); text != "" {
				return text
			}
		}
	}
	return ""
}

// maxLifetime is the longest time to live that the library can count: 292 years.
const maxLifetime = float64(math.MaxInt64 / int64(time.Millisecond)) // ms

// checkExpiry refuses an expiry that is too far away. The name of the command or
// option says its unit, and whether it is absolute.
func checkExpiry(e *embedded, _ *connection, name string, args []string) string {
	if len(args) < 2 {
		return ""
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return "" // the command reports the error
	}
	ms := float64(n)
	if !strings.HasPrefix(name, "P") {
		ms *= 1000
	}
	if strings.HasSuffix(name, "AT") {
		ms -= float64(e.told.UnixMilli())
	}
	if math.Abs(ms) > maxLifetime {
		return fmt.Sprintf("ERR invalid expire time %d of %s: the embedded store needs one within 292 years", n, name)
	}
	return ""
}

// scoreOptions are the options of ZADD before its scores.
var scoreOptions = wordSet("CH GT INCR LT NX XX")

// checkScores refuses a score that is, or would become, not a number.
func checkScores(_ *embedded, c *connection, name string, args []string) string {
	rest, adds := args[1:], name == "ZINCRBY"
	for len(rest) > 0 && scoreOptions[strings.ToUpper(rest[0])] {
		adds, rest = adds || strings.EqualFold(rest[0], "INCR"), rest[1:]
	}
	for i := 0; i+1 < len(rest); i += 2 {
		score, err := strconv.ParseFloat(rest[i], 64)
		if err == nil && math.IsNaN(score) {
			return errFloat
		}
		text, _ := c.look("ZSCORE", args[0], rest[i+1]).(string)
		if was, err := strconv.ParseFloat(text, 64); adds && err == nil && math.IsNaN(was+score) {
			return "ERR resulting score is not a number (NaN)"
		}
	}
	return ""
}

// checkSum refuses a sum that overflows.
func checkSum(_ *embedded, c *connection, _ string, args []string) string {
	if len(args) != 3 {
		return ""
	}
	text, _ := c.look("HGET", args[0], args[1]).(string)
	was, _ := strconv.ParseInt(text, 10, 64)
	add, _ := strconv.ParseInt(args[2], 10, 64)
	if sum := was + add; (sum > was) != (add > 0) && add != 0 {
		return "ERR increment or decrement would overflow"
	}
	return ""
}

// maxExponent is the largest binary exponent of numbers in the original server.
const maxExponent = 16384

// checkFloat refuses an increment or a stored value with an exponent so large that
// the number would be written with many megabytes of digits.
func checkFloat(_ *embedded, c *connection, name string, args []string) string {
	if len(args) < 2 {
		return ""
	}
	read := map[string]string{"HINCRBYFLOAT": "HGET", "INCRBYFLOAT": "GET"}[name]
	was, _ := c.look(append([]string{read}, args[:len(args)-1]...)...).(string)
	for _, text := range []string{was, args[len(args)-1]} {
		f, _, err := big.ParseFloat(text, 10, 128, big.ToNearestEven)
		if err == nil && (f.IsInf() || f.MantExp(nil) > maxExponent) {
			return errFloat
		}
	}
	return ""
}
