package ratelimit

import "time"

// Level is how full a bucket is.
type Level struct {
	Tokens     int64
	RefilledAt int64 // Unix ms of the last due refill
}

// TokenBucket decides on a request at now from the level of the bucket before it, and
// returns the level after it. A refused request does not change the level.
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

// Full returns the level of a full bucket.
func Full(l Limit, now time.Time) Level {
	return Level{Tokens: l.Tokens, RefilledAt: now.UnixMilli()}
}

// refilled adds all complete refills since the last one, up to the size of the bucket.
func refilled(l Limit, now time.Time, b Level) Level {
	b.Tokens = min(b.Tokens, l.Tokens) // the limit may have been lowered
	due := (now.UnixMilli() - b.RefilledAt) / l.window()
	if due < 1 {
		return b
	}
	b.RefilledAt += due * l.window()
	if missing := l.Tokens - b.Tokens; due >= (missing+l.refill()-1)/l.refill() {
		b.Tokens = l.Tokens // avoids an overflow of the product below
	} else {
		b.Tokens += due * l.refill()
	}
	return b
}
