package client_test

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// limitScript decides and counts. Published limiters begin their scripts like this one. KEYS are the current and the previous window; ARGV are the
// algorithm, the tokens, the window and the time in milliseconds, and the refill rate.
const limitScript = `#!lua
local tokens, window, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if ARGV[1] == 'token-bucket' then
  local b = redis.call('HMGET', KEYS[1], 'refilledAt', 'tokens')
  local at, left = tonumber(b[1]) or now, tonumber(b[2]) or tokens
  local refills = math.floor((now - at) / window)
  left, at = math.min(tokens, left + refills * tonumber(ARGV[5])), at + refills * window
  local allowed = left > 0
  if allowed then left = left - 1 end
  redis.call('HSET', KEYS[1], 'refilledAt', at, 'tokens', left)
  redis.call('PEXPIRE', KEYS[1], window * (tokens + 1))
  return allowed and 1 or 0
end
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if ARGV[1] == 'sliding-window' then
  local before = tonumber(redis.call('GET', KEYS[2]) or '0')
  used = used + math.floor((1 - (now % window) / window) * before)
end
if used >= tokens then return 0 end
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], window * 2)
return 1`

var windowForm = regexp.MustCompile(`^(\d+)(ms|s|m|h|d)$`)

// limit says whether a rate limit admits a request.
func (c *referenceClient) limit(a values) (any, error) {
	rule, storage := a.part("rule"), a.part("storage")
	algorithm, window := rule.text("algorithm"), windowForm.FindStringSubmatch(rule.text("window"))
	tokens, err := strconv.Atoi(rule.text("tokens"))
	if !slices.Contains([]string{"fixed-window", "sliding-window", "token-bucket"}, algorithm) && !c.broken("174.1") {
		return nil, refuse("algorithm %q: must be fixed-window, sliding-window or token-bucket", algorithm)
	}
	if err != nil || window == nil {
		return nil, refuse("rule: must have tokens and a window")
	}
	if c.broken("172.1") {
		tokens++
	}
	n, _ := strconv.ParseInt(window[1], 10, 64)
	ms := n * map[string]int64{"ms": 1, "s": 1e3, "m": 60e3, "h": 3600e3, "d": 86400e3}[window[2]]
	now := time.Now().UnixMilli()
	key := a.text("prefix") + ":" + a.text("identifier")
	if c.broken("171.1") {
		key = a.text("identifier")
	}
	keys := []any{key, key + ":"}
	if algorithm != "token-bucket" {
		keys = []any{fmt.Sprintf("%s:%d", key, now/ms), fmt.Sprintf("%s:%d", key, now/ms-1)}
	}
	of := *c
	of.base, of.token = strings.TrimRight(storage.text("url"), "/"), storage.text("token")
	if c.broken("170.1") {
		of.token = ""
	}
	allowed, err := of.evaluate(append(keys, algorithm, tokens, ms, now, max(1, wholeNumber(rule.text("refillRate")))))
	if err != nil {
		return nil, err
	}
	return map[string]any{"allowed": allowed}, nil
}

func wholeNumber(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// evaluate runs the script by its hash, and in full if the storage does not know it.
func (c *referenceClient) evaluate(arguments []any) (bool, error) {
	sum := sha1.Sum([]byte(limitScript))
	full := append([]any{"EVAL", limitScript, 2}, arguments...)
	if c.broken("173.1") {
		result, err := c.command(full)
		return fmt.Sprint(result) == "1", err
	}
	result, err := c.command(append([]any{"EVALSHA", hex.EncodeToString(sum[:]), 2}, arguments...))
	var f *failure
	if errors.As(err, &f) && strings.Contains(f.message, "NOSCRIPT") {
		result, err = c.command(full)
	}
	return fmt.Sprint(result) == "1", err
}

func (c *referenceClient) command(words []any) (any, error) {
	q := &request{method: "POST", path: "/", due: "result", read: func(v any) (any, error) { return v.(map[string]any)["result"], nil }}
	q.json(c, words)
	return c.send(q)
}
