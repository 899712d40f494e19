// Package duration parses the durations of the interface.
//
//	d, err := duration.Parse("1d10h30m")
//
// The units are s, m, h and d; the resolution is one second.
package duration

import (
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Max is the longest duration, such as a delay (decided: 8, 31).
const Max = 365 * 24 * time.Hour

// Parse reads a duration: numbers with the units s, m, h, d, such as 1d10h30m, or whole
// seconds without a unit. The error for any other text is refusal.Invalid.
func Parse(s string) (time.Duration, error) {
	if d, ok := parse(s); ok {
		return d, nil
	}
	return 0, refusal.OfValue("duration", s, "", fmt.Sprintf("numbers with the units s, m, h, d, such as 50s or 1d10h30m, at most %dd", Max/(24*time.Hour)))
}

// unitOf returns the length of a unit, 0 for an unknown one.
func unitOf(c byte) time.Duration {
	switch c {
	case 's':
		return time.Second
	case 'm':
		return time.Minute
	case 'h':
		return time.Hour
	case 'd':
		return 24 * time.Hour
	}
	return 0
}

func parse(s string) (sum time.Duration, ok bool) {
	n, digits := 0, 0
	for i := range len(s) {
		c := s[i]
		if c >= '0' && c <= '9' && digits < 10 {
			n, digits = 10*n+int(c-'0'), digits+1
			continue
		}
		unit := unitOf(c)
		if digits == 0 || unit == 0 || time.Duration(n) > Max/unit {
			return 0, false
		}
		sum += time.Duration(n) * unit
		if n, digits = 0, 0; sum > Max { // check after each part, because many parts could overflow
			return 0, false
		}
	}
	if digits > 0 {
		sum = time.Duration(n) * time.Second
		return sum, digits == len(s) && time.Duration(n) <= Max/time.Second
	}
	return sum, s != ""
}
