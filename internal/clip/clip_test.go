package clip_test

import (
	"testing"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	expect.Equal(t, "short text", clip.Text("é!", 3), "é!")
	expect.Equal(t, "cut after a character", clip.Text("aéb", 3), "aé…")
	expect.Equal(t, "cut within a character", clip.Text("aéb", 2), "a…")
}

func TestADurationHasItsTwoLargestUnits(t *testing.T) {
	t.Parallel()
	for ms, want := range map[float64]string{0: "0 ms", 999: "999 ms", 1500: "1.5 s", 12_300: "12 s", 60_000: "1 m", 90_000: "1 m 30 s", 7_260_000: "2 h 1 m", 90_000_000: "1 d 1 h", 1e300: "53375995583 d 15 h"} {
		expect.Equal(t, "text", clip.Duration(ms), want)
	}
}
