package ratelimit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Algorithm is how a limit counts. Names as in "Limiter object", interface
// document.
type Algorithm string

// The algorithms.
const (
	Fixed   Algorithm = "fixed-window"   // the counter starts anew at each interval
	Sliding Algorithm = "sliding-window" // the interval before counts in, less and less
	Bucket  Algorithm = "token-bucket"   // a bucket that is refilled at a steady rate
)

// MaxTokens bounds Tokens and RefillRate: counters are doubles in Lua, which
// are exact up to here.
const MaxTokens = 1<<53 - 1

// Limit is how many requests are allowed.
type Limit struct {
	Algorithm  Algorithm
	Tokens     int64         // per window; of a bucket: its size
	Window     time.Duration // whole milliseconds; of a bucket: between two refills
	RefillRate int64         // tokens per refill, of a bucket only; 0: Tokens
}

// Check says what is wrong with a limit.
func (l Limit) Check() error {
	switch {
	case algorithms[l.Algorithm] == nil:
		return fmt.Errorf("algorithm %q: accepted are fixed-window, sliding-window and token-bucket", l.Algorithm)
	case l.Tokens < 1 || l.Tokens > MaxTokens:
		return fmt.Errorf("tokens %d: a whole number from 1 up", l.Tokens)
	case l.Window < time.Millisecond || l.Window%time.Millisecond != 0:
		return fmt.Errorf("window %s: whole milliseconds from 1ms up", l.Window)
	case l.RefillRate < 0 || l.RefillRate > MaxTokens:
		return fmt.Errorf("refillRate %d: a whole number from 1 up", l.RefillRate)
	}
	return nil
}

func (l Limit) window() int64 { return l.Window.Milliseconds() }

// refill is the number of tokens that a refill adds.
// Without refillRate, which the document does not require, a bucket gets all of
// its tokens back each window (decided: 34).
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

// ParseWindow reads a window: a number followed by ms, s, m, h or d. One space
// between the two is accepted, as published plugins accept it.
func ParseWindow(text string) (time.Duration, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	unit, known := units[text[len(digits):]]
	n, err := strconv.ParseUint(strings.TrimSuffix(digits, " "), 10, 63)
	if errors.Is(err, strconv.ErrRange) && known || err == nil && known && n > uint64(maxWindow/unit) {
		return 0, fmt.Errorf("window %q: accepted are windows up to %dd", text, maxWindow/units["d"])
	}
	if err != nil || !known || n == 0 {
		return 0, fmt.Errorf("window %q: a number from 1 up followed by ms, s, m, h or d, such as 10s", text)
	}
	return time.Duration(n) * unit, nil
}

// maxWindow is the longest window: two of them, and a time, stay exact numbers.
const maxWindow = 36500 * 24 * time.Hour

// Decision is what came of a request.
type Decision struct {
	Allowed   bool
	Limit     int64     // Tokens
	Remaining int64     // what is left after this request
	Reset     time.Time // when the window ends, or the bucket is next refilled
	RetryAt   time.Time // first instant at which a request would pass if none came between; zero if allowed
}

// Key is the key form of the interface document. method and route are those of
// the configured limit: a route is the pattern, so that all URLs which it
// matches share one counter.
func Key(prefix, method, route, identifier string) string {
	return prefix + ":" + method + ":" + route + ":" + identifier
}
