package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestWaits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{ // for the fourth retry
		"1000":                          time.Second,
		"1000 * pow(2, retried)":        8 * time.Second,
		"1000*(1+retried)/2":            2 * time.Second,
		"-(-1.5)*1e3":                   1500 * time.Millisecond,
		"7---5":                         2 * time.Millisecond,
		"5++++5":                        10 * time.Millisecond,
		"+.5+7.":                        7 * time.Millisecond,
		"max(min(3, retried), 2)":       3 * time.Millisecond,
		"round(2.5) + ceil(0.1)":        4 * time.Millisecond,
		"floor(2.9) + abs(-sqrt(9))":    5 * time.Millisecond,
		"exp(0)":                        time.Millisecond,
		"1e30":                          state.MaxWait,
		"1000 / (3 - retried)":          state.MaxWait, // infinite
		"7" + strings.Repeat(" - 1", 7): 0,
		strings.Repeat("abs(", 100) + "9" + strings.Repeat(")", 100): 9 * time.Millisecond,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f, err := state.ParseFormula(text)
			expect.NoError(t, err)
			expect.Equal(t, "wait", f.Delay(3), want)
			expect.Equal(t, "text", f.String(), text)
		})
	}
}

func TestWhatIsNoFormula(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"":                        "at most 512 characters",
		strings.Repeat("1+", 257): "at most 512 characters",
		"1 // 2":                  "at most 512 characters",
		"1 /* 2 */":               "at most 512 characters",
		"2 ** 3":                  "unexpected term at character 4",
		"*retried":                "unexpected term at character 1",
		"retry":                   "unknown name retry",
		"pow(2)":                  "unknown function pow with 1 arguments",
		"abs(1, 2)":               "unknown function abs with 2 arguments",
		"min(1, 2...)":            "expected",
		"len(1)":                  "unknown function len with 1 arguments",
		"(abs)(1)":                "unexpected term at character 1",
		"1, 2":                    "expected",
		"0x10":                    "unexpected term at character 1",
		"1 / 0":                   "gives +Inf ms for retried=0",
		"0 / 0":                   "gives NaN ms for retried=0",
		"-1":                      "gives -1 ms for retried=0",
		"func() {}":               "at most 512 characters",
		"map (1)":                 "expected",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, err := state.ParseFormula(text)
			expect.Contains(t, "error", err.Error(), why)
		})
	}
}
