package ratelimit

import (
	"math"
	"time"
)

// FixedWindow decides on a request at now, with count requests charged before in its window.
func FixedWindow(l Limit, now time.Time, count int64) Decision {
	end := number(l, now)*l.window() + l.window()
	d := Decision{Limit: l.Tokens, Allowed: count < l.Tokens, Reset: time.UnixMilli(end)}
	if d.Allowed {
		d.Remaining = l.Tokens - count - 1
	} else {
		d.RetryAt = d.Reset
	}
	return d
}

// SlidingWindow decides on a request at now, with current requests charged in its window
// and previous ones in the window before. Previous requests count by the fraction of their
// window that a window ending now still covers, rounded down.
func SlidingWindow(l Limit, now time.Time, current, previous int64) Decision {
	w := l.window()
	start := number(l, now) * w
	weighted := weight(previous, now.UnixMilli()-start, w)
	d := Decision{Limit: l.Tokens, Allowed: weighted+current < l.Tokens, Reset: time.UnixMilli(start + w)}
	if d.Allowed {
		d.Remaining = l.Tokens - weighted - current - 1
	} else {
		d.RetryAt = time.UnixMilli(roomAt(l, start, current, previous))
	}
	return d
}

// weight is floor((1 - elapsed/window) x previous). It multiplies before it divides,
// because (1-0.9)x10 would be less than 1.
func weight(previous, elapsed, window int64) int64 {
	return int64(math.Floor(float64(previous) * float64(window-elapsed) / float64(window)))
}

// roomAt returns the time at which the weight of the previous window is small enough. If the
// current window alone is full, this is in the next window, when the current one is the previous.
func roomAt(l Limit, start, current, previous int64) int64 {
	w := l.window()
	if current >= l.Tokens {
		start, current, previous = start+w, 0, current
	}
	low, high := int64(0), w // the weight at high is 0
	for low < high {
		middle := (low + high) / 2
		if weight(previous, middle, w)+current < l.Tokens {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return start + low
}

// number is the number of the window that contains now, counted from 1970.
func number(l Limit, now time.Time) int64 { return now.UnixMilli() / l.window() }
