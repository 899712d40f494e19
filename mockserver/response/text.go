package response

import (
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/duration"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Shorten cuts a long text, for errors.
func Shorten(s string) string {
	return refusal.Shorten(s)
}

// ByteSize formats a number of bytes for people, such as 10 MiB.
func ByteSize(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + " KiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// Duration reads a duration of the interface (1d12h) or of Go (1h30m, 250ms). It refuses a
// number without a unit, such as 24: a reader cannot know that these are seconds.
func Duration(s string) (time.Duration, error) {
	if d, err := duration.Parse(s); err == nil && strings.ContainsAny(s, "smhd") {
		return d, nil
	}
	return time.ParseDuration(s)
}
