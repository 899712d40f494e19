package ratelimit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Algorithm is how a limit counts. The names are those of "Limiter object" in the interface
// document.
type Algorithm string

// The algorithms.
const (
	Fixed   Algorithm = "fixed-window"   // the counter restarts with each window
	Sliding Algorithm = "sliding-window" // the previous window counts with decreasing weight
	Bucket  Algorithm = "token-bucket"   // a bucket that is refilled at a steady rate
)

// MaxTokens limits Tokens and RefillRate: counters are doubles in Lua, which are exact up
// to this number.
const MaxTokens = 1<<53 - 1

// Limit is how many requests are allowed.
type Limit struct {
	Algorithm  Algorithm
	Tokens     int64         // requests per window; for a bucket: its size
	Window     time.Duration // whole milliseconds; for a bucket: time between two refills
	RefillRate int64         // tokens per refill, for a bucket only; 0: Tokens
}

// Check returns an error for an invalid limit.
func (l Limit) Check() error {
	switch {
	case algorithms[l.Algorithm] == nil:
		return fmt.Errorf("algorithm: invalid value %q: must be fixed-window, sliding-window or token-bucket", l.Algorithm)
	case l.Tokens < 1 || l.Tokens > MaxTokens:
		return fmt.Errorf("tokens: invalid value %d: must be an integer of 1 or more", l.Tokens)
	case l.Window < time.Millisecond || l.Window%time.Millisecond != 0:
		return fmt.Errorf("window: invalid value %s: must be whole milliseconds of 1ms or more", l.Window)
	case l.RefillRate < 0 || l.RefillRate > MaxTokens:
		return fmt.Errorf("refillRate: invalid value %d: must be an integer of 1 or more", l.RefillRate)
	}
	return nil
}

func (l Limit) window() int64 { return l.Window.Milliseconds() }

// refill is the number of tokens that a refill adds. Without refillRate, which the document
// does not require, each refill fills the bucket (decided: 34).
func (l Limit) refill() int64 {
	if l.RefillRate == 0 {
		return l.Tokens
	}
	return l.RefillRate
}

// units of a window ("Limits", interface document).
var units = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// ParseWindow parses a window: a number followed by ms, s, m, h or d. One space between the
// two is allowed, because published plugins allow it.
func ParseWindow(text string) (time.Duration, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	unit, known := units[text[len(digits):]]
	n, err := strconv.ParseUint(strings.TrimSuffix(digits, " "), 10, 63)
	if errors.Is(err, strconv.ErrRange) && known || err == nil && known && n > uint64(maxWindow/unit) {
		return 0, fmt.Errorf("window: invalid value %q: must be at most %dd", text, maxWindow/units["d"])
	}
	if err != nil || !known || n == 0 {
		return 0, fmt.Errorf("window: invalid value %q: must be a number of 1 or more followed by ms, s, m, h or d, such as 10s", text)
	}
	return time.Duration(n) * unit, nil
}

// maxWindow is the longest window: the sum of two windows and a time is still an exact
// number in Lua.
const maxWindow = 36500 * 24 * time.Hour

// Decision is the result of a request.
type Decision struct {
	Allowed   bool
	Limit     int64     // Tokens
	Remaining int64     // tokens left after this request
	Reset     time.Time // when the window ends, or the bucket is next refilled
	RetryAt   time.Time // earliest time at which a request passes if there are no others; zero if allowed
}

// Key returns the key of a counter as in the interface document. method and route are those of
// the configured limit: route is the pattern, so that all URLs matching it share one counter.
func Key(prefix, method, route, identifier string) string {
	return prefix + ":" + method + ":" + route + ":" + identifier
}
