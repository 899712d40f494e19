package control

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/ratelimit"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

var _ = registerHandlers(map[string]Handler{
	"controlClearLimits": (*Service).clearLimits,
	"controlLimits":      (*Service).limits,
})

// limitBody is one key of a rate limiter.
type limitBody struct {
	Key       string              `json:"key"` // without the number of its window
	Algorithm ratelimit.Algorithm `json:"algorithm"`
	Limit     int64               `json:"limit"`
	WindowMs  int64               `json:"windowMs"`
	Left      int64               `json:"left"`
	ResetAt   int64               `json:"resetAt"` // Unix ms
	store     []string            // keys in the store
}

// limits lists the keys of rate limiters in the account's key-value store, the
// latest first. The store contains only counters, so the limits are taken from the
// last script that a limiter ran; without one a key is not listed.
func (s *Service) limits(c *call.Call) (response.Response, error) {
	list, err := s.countedLimits(c.Request.Context(), c.Tenant)
	if err != nil {
		return response.Response{}, err
	}
	return response.Response{Body: map[string]any{"limits": list}}, nil
}

// maxLimits is the maximum number of keys that are listed.
const maxLimits = 500

// countedLimits reads the counters of each key once, in the order of the latest script
// runs, the newest first.
func (s *Service) countedLimits(ctx context.Context, w *tenant.Tenant) ([]limitBody, error) {
	list, seen := []limitBody{}, map[string]bool{}
	now := s.Wall.Now()
	for _, run := range w.KV.ScriptRuns() {
		for _, asked := range askedLimits(run) {
			if seen[asked.key] || len(list) == maxLimits {
				continue
			}
			seen[asked.key] = true
			at := now
			if asked.plugin {
				at = w.Account.Now()
			}
			one, err := asked.look(ctx, w.KV, at)
			if err != nil {
				return nil, fmt.Errorf("key-value store: %w", err)
			}
			list = append(list, one)
		}
	}
	return list, nil
}

// askedLimit is a limit from the arguments of a script, and the key of its counters.
type askedLimit struct {
	ratelimit.Limit
	key    string
	plugin bool // uses the account's clock; published limiters use the clock of their process
}

// askedLimits reads the limits from the arguments of a limiter's script. The plugin
// sends a time and the names of algorithms; the scripts of client libraries differ in
// the number of their arguments.
func askedLimits(run kv.ScriptRun) []askedLimit {
	numbers := make([]int64, len(run.Args))
	for i, text := range run.Args {
		numbers[i], _ = strconv.ParseInt(text, 10, 64)
	}
	if len(run.Args) > 6 && len(run.Args)%6 == 1 {
		return pluginLimits(run, numbers)
	}
	var l ratelimit.Limit
	switch {
	case len(numbers) == 3 && numbers[1] > longAgo: // the script for the remaining tokens
		l = ratelimit.Limit{Algorithm: ratelimit.Sliding, Tokens: numbers[0], Window: boundedMillis(numbers[2])}
	case len(numbers) == 3:
		l = ratelimit.Limit{Algorithm: ratelimit.Fixed, Tokens: numbers[0], Window: boundedMillis(numbers[1])}
	case len(numbers) == 4 && len(run.Keys) >= 2:
		l = ratelimit.Limit{Algorithm: ratelimit.Sliding, Tokens: numbers[0], Window: boundedMillis(numbers[2])}
	case len(numbers) == 5:
		l = ratelimit.Limit{Algorithm: ratelimit.Bucket, Tokens: numbers[0], Window: boundedMillis(numbers[1]), RefillRate: numbers[2]}
	}
	if l.Check() != nil {
		return nil // another script
	}
	return []askedLimit{{l, baseKey(l, run.Keys[0]), false}}
}

// longAgo distinguishes an instant in Unix ms from the length of a window.
const longAgo = 1_200_000_000_000

// boundedMillis converts a client's number without overflow of the duration.
func boundedMillis(n int64) time.Duration { return time.Duration(min(n, 1<<40)) * time.Millisecond }

// pluginLimits reads six arguments for each limit after the time. A sliding window
// has two keys, and a limit with analytics has two more.
func pluginLimits(run kv.ScriptRun, numbers []int64) (list []askedLimit) {
	used := 0
	for a := 1; a < len(run.Args) && used < len(run.Keys); a += 6 {
		l := ratelimit.Limit{Algorithm: ratelimit.Algorithm(run.Args[a]), Tokens: numbers[a+1], Window: boundedMillis(numbers[a+2]), RefillRate: numbers[a+3]}
		if l.Algorithm != ratelimit.Bucket {
			l.RefillRate = 0
		}
		if l.Check() != nil {
			return nil
		}
		list = append(list, askedLimit{l, baseKey(l, run.Keys[used]), true})
		used++
		if l.Algorithm == ratelimit.Sliding {
			used++
		}
		if run.Args[a+4] != "" { // analytics count under two keys
			used += 2
		}
	}
	return list
}

// baseKey removes the number of the window from a key.
func baseKey(l ratelimit.Limit, key string) string {
	if end := strings.LastIndex(key, ":"); end >= 0 && l.Algorithm != ratelimit.Bucket {
		return key[:end]
	}
	return key
}

// keys are the keys in the store at a time: of the current window and the previous one.
func (l askedLimit) keys(now time.Time) []string {
	if l.Algorithm == ratelimit.Bucket {
		return []string{l.key}
	}
	n := now.UnixMilli() / l.Window.Milliseconds()
	return []string{l.key + ":" + strconv.FormatInt(n, 10), l.key + ":" + strconv.FormatInt(n-1, 10)}
}

// look reads the counters and computes the remaining tokens.
func (l askedLimit) look(ctx context.Context, store *kv.KV, now time.Time) (limitBody, error) {
	keys := l.keys(now)
	command := append([]string{"MGET"}, keys...)
	if l.Algorithm == ratelimit.Bucket {
		command = []string{"HMGET", l.key, "tokens", "refilledAt"}
	}
	got, err := store.Do(ctx, command)
	if err != nil {
		return limitBody{}, err
	}
	first, second, kept := twoNumbers(got[0])
	var d ratelimit.Decision
	switch l.Algorithm {
	case ratelimit.Fixed:
		d = ratelimit.FixedWindow(l.Limit, now, first)
	case ratelimit.Sliding:
		d = ratelimit.SlidingWindow(l.Limit, now, first, second)
	default:
		level := ratelimit.Full(l.Limit, now)
		if kept {
			level = ratelimit.Level{Tokens: first, RefilledAt: second}
		}
		d, _ = ratelimit.TokenBucket(l.Limit, now, level)
	}
	left := d.Remaining
	if d.Allowed {
		left++ // the decision includes one more request
	}
	return limitBody{Key: l.key, Algorithm: l.Algorithm, Limit: l.Tokens, WindowMs: l.Window.Milliseconds(), Left: left, ResetAt: d.Reset.UnixMilli(), store: keys}, nil
}

// twoNumbers reads a reply of two numbers; a missing one is 0.
func twoNumbers(reply any) (first, second int64, there bool) {
	list, ok := reply.([]any)
	if !ok || len(list) != 2 {
		return 0, 0, false
	}
	read := func(v any) int64 {
		if v == nil {
			return 0
		}
		there = true
		n, _ := strconv.ParseInt(strings.TrimSpace(fmt.Sprint(v)), 10, 64)
		return n
	}
	return read(list[0]), read(list[1]), there
}

// clearLimits deletes the counters of the given keys, or of all keys.
func (s *Service) clearLimits(c *call.Call) (response.Response, error) {
	list, err := s.countedLimits(c.Request.Context(), c.Tenant)
	if err != nil {
		return response.Response{}, err
	}
	wanted := c.Query["key"]
	for _, l := range list {
		if len(wanted) > 0 && !slices.Contains(wanted, l.Key) {
			continue
		}
		if _, err := c.Tenant.KV.Do(c.Request.Context(), append([]string{"DEL"}, l.store...)); err != nil {
			return response.Response{}, fmt.Errorf("key-value store: %w", err)
		}
	}
	return response.Empty, nil
}
