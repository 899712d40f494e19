package ratelimit

import "time"

// Level is how full a bucket is.
type Level struct {
	Tokens     int64
	RefilledAt int64 // Unix ms, of the last refill that was due
}

// TokenBucket decides on a request at now, with the bucket as it was left, and
// says how it is left then. A request that is not allowed leaves it as it was.
func TokenBucket(l Limit, now time.Time, before Level) (Decision, Level) {
	level := refilled(l, now, before)
	d := Decision{Limit: l.Tokens, Allowed: level.Tokens >= 1, Reset: time.UnixMilli(level.RefilledAt + l.window())}
	if !d.Allowed {
		d.RetryAt = d.Reset
		return d, before
	}
	level.Tokens--
	d.Remaining = level.Tokens
	return d, level
}

// Full is a bucket that nobody has drawn from.
func Full(l Limit, now time.Time) Level {
	return Level{Tokens: l.Tokens, RefilledAt: now.UnixMilli()}
}

// refilled adds the refills since the last one, whole ones only, up to the size.
func refilled(l Limit, now time.Time, b Level) Level {
	b.Tokens = min(b.Tokens, l.Tokens) // the limit may have been lowered since
	due := (now.UnixMilli() - b.RefilledAt) / l.window()
	if due < 1 {
		return b
	}
	b.RefilledAt += due * l.window()
	if missing := l.Tokens - b.Tokens; due >= (missing+l.refill()-1)/l.refill() {
		b.Tokens = l.Tokens // the product below could be larger than a number
	} else {
		b.Tokens += due * l.refill()
	}
	return b
}
