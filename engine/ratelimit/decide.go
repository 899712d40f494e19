package ratelimit

import (
	"context"
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// A Store runs a script atomically on the counters. The reply of the script is a list of
// integers.
type Store interface {
	Eval(ctx context.Context, s Script, keys, args []string) ([]int64, error)
}

// Script is a Lua script and its SHA-1 hash, by which stores cache it.
type Script struct{ Text, SHA string }

// Request is a request for one token of a limit.
type Request struct {
	Limit Limit
	Key   string // made by Key; windows append their number
	Count *Count // nil: no analytics
}

// Count says where the outcome is counted for analytics: in sorted sets per hour, with a
// member per identifier and outcome. Published readers of analytics look for the plugin's
// prefix, and for one route for PREFIX:METHOD:ROUTE.
type Count struct {
	Prefix, Method, Route, Identifier string
}

//go:embed fixed.lua
var fixedLua string

//go:embed sliding.lua
var slidingLua string

//go:embed bucket.lua
var bucketLua string

//go:embed decide.lua
var decideLua string

// prelude is what the scripts share. slack is how long counters stay after they have no effect,
// in ms: for hosts whose clocks differ, and for decisions that reach the store late. Without it,
// a late decision would not find the counter, and a limit could be exceeded.
const prelude = `local slack, longest, kept = 10000, 6307200000000, 7776000000 -- 10 s, 200 years, 90 days
local function whole(n) return string.format("%.0f", n) end
local algorithms = {}
`

var script = newScript(prelude + fixedLua + slidingLua + bucketLua + decideLua)

func newScript(text string) Script {
	sum := sha1.Sum([]byte(text))
	return Script{Text: text, SHA: hex.EncodeToString(sum[:])}
}

// Decide charges one token to the limit of each request if all of them allow it, and none
// otherwise. The decisions are in the order of the requests.
func Decide(ctx context.Context, s Store, now time.Time, requests ...Request) ([]Decision, error) {
	args := []string{strconv.FormatInt(now.UnixMilli(), 10)}
	var keys []string
	for _, r := range requests {
		if err := r.Limit.Check(); err != nil {
			return nil, err
		}
		keys = append(keys, algorithms[r.Limit.Algorithm].keys(r.Limit, now, r.Key)...)
		args = append(args, string(r.Limit.Algorithm), strconv.FormatInt(r.Limit.Tokens, 10),
			strconv.FormatInt(r.Limit.window(), 10), strconv.FormatInt(r.Limit.refill(), 10), r.Count.member(true), r.Count.member(false))
		if r.Count != nil {
			keys = append(keys, r.Count.keys(now)...)
		}
	}
	reply, err := s.Eval(ctx, script, keys, args)
	if err != nil {
		return nil, err
	}
	if len(reply) != 3*len(requests) {
		return nil, fmt.Errorf("the store's reply has %d numbers, want %d", len(reply), 3*len(requests))
	}
	return judge(now, requests, reply)
}

// judge makes decisions from the states that the script returned. A limit that allows the
// request is not charged if another limit refuses it, so it keeps its token.
func judge(now time.Time, requests []Request, reply []int64) ([]Decision, error) {
	decisions, refused := make([]Decision, len(requests)), false
	for i, r := range requests {
		x, y := reply[3*i+1], reply[3*i+2]
		d := algorithms[r.Limit.Algorithm].decide(r.Limit, now, x, y)
		if d.Allowed != (reply[3*i] == 1) {
			return nil, fmt.Errorf("the store's decision %d does not follow from its state %d, %d", reply[3*i], x, y)
		}
		decisions[i] = d
		refused = refused || !d.Allowed
	}
	for i := range decisions {
		if refused && decisions[i].Allowed {
			decisions[i].Remaining++
		}
	}
	return decisions, nil
}

// algorithm has the keys of an algorithm's counters and its pure function.
type algorithm struct {
	keys   func(l Limit, now time.Time, key string) []string
	decide func(l Limit, now time.Time, x, y int64) Decision
}

// algorithms is sorted by name; the scripts use the same names.
var algorithms = map[Algorithm]*algorithm{
	Fixed: {
		keys: func(l Limit, now time.Time, key string) []string {
			return []string{windowKey(key, number(l, now))}
		},
		decide: func(l Limit, now time.Time, count, _ int64) Decision { return FixedWindow(l, now, count) },
	},
	Sliding: {
		keys: func(l Limit, now time.Time, key string) []string {
			n := number(l, now)
			return []string{windowKey(key, n), windowKey(key, n-1)}
		},
		decide: SlidingWindow,
	},
	Bucket: {
		keys: func(_ Limit, _ time.Time, key string) []string { return []string{key} },
		decide: func(l Limit, now time.Time, tokens, refilledAt int64) Decision {
			d, _ := TokenBucket(l, now, Level{Tokens: tokens, RefilledAt: refilledAt})
			return d
		},
	},
}

func windowKey(key string, n int64) string { return key + ":" + strconv.FormatInt(n, 10) }

// keys are the keys of the counts for the hour: of all routes, and of the route.
func (c *Count) keys(now time.Time) []string {
	hour := ":events:" + strconv.FormatInt(now.Truncate(time.Hour).UnixMilli(), 10)
	return []string{c.Prefix + hour, c.Prefix + ":" + c.Method + ":" + c.Route + hour}
}

// member is the name under which an outcome is counted, "" without analytics.
func (c *Count) member(success bool) string {
	if c == nil {
		return ""
	}
	text, _ := json.Marshal(struct { // a string and a bool always encode
		Identifier string `json:"identifier"`
		Success    bool   `json:"success"`
	}{c.Identifier, success})
	return string(text)
}
