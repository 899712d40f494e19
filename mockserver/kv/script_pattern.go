package kv

import (
	"fmt"
	"math"

	"github.com/yuin/gopher-lua/pm"
)

// Limits of matching a pattern, which backtracks and cannot be interrupted: bytes of
// the subject, steps, and depth of recursion.
const (
	maxSubject      = 1 << 20
	maxPatternSteps = 50_000_000
	maxPatternDepth = 200_000
)

// checkPattern refuses a pattern that may take too long on a subject. Each
// repetition can be as long as the longest run of its characters, so the number of
// steps is at most the product of these runs for each start position.
func checkPattern(pattern, subject string) error {
	if len(subject) > maxSubject {
		return fmt.Errorf("string of %d bytes is too long for a pattern: must have at most %d", len(subject), maxSubject)
	}
	steps, depth := float64(len(subject)+1), 0.0
	anchored := len(pattern) > 0 && pattern[0] == '^'
	if anchored {
		steps, pattern = 1, pattern[1:]
	}
	for i := 0; i < len(pattern); {
		end := patternItem(pattern, i)
		if end < len(pattern) {
			switch pattern[end] {
			case '*', '+', '-':
				run, err := longestRun(pattern[i:end], subject)
				if err != nil {
					return err
				}
				steps, depth = steps*(run+1), depth+run
				end++
			case '?':
				steps *= 2
				end++
			}
		}
		if pattern[i] == '%' && i+1 < len(pattern) && (pattern[i+1] == 'b' || pattern[i+1] >= '0' && pattern[i+1] <= '9') {
			steps *= float64(len(subject) + 1) // may compare the whole subject
		}
		i = end
	}
	if steps > maxPatternSteps || depth > maxPatternDepth {
		return fmt.Errorf("pattern too complex: it may take %.0f steps on a string of %d bytes", math.Min(steps, math.MaxInt64), len(subject))
	}
	return nil
}

// patternItem returns the end of the item that begins at i: a character, a class or
// a set.
func patternItem(pattern string, i int) int {
	switch {
	case pattern[i] == '%':
		return min(i+2, len(pattern))
	case pattern[i] != '[':
		return i + 1
	}
	end := i + 1
	if end < len(pattern) && pattern[end] == '^' {
		end++
	}
	for first := true; end < len(pattern) && (first || pattern[end] != ']'); first = false {
		if pattern[end] == '%' {
			end++
		}
		end++
	}
	return min(end+1, len(pattern))
}

// longestRun returns the length of the longest run of characters that an item matches.
func longestRun(item, subject string) (longest float64, err error) {
	if item == "(" || item == ")" {
		return 0, nil
	}
	known, matched := [256]bool{}, [256]bool{}
	run := 0.0
	for _, b := range []byte(subject) {
		if !known[b] {
			found, err := pm.Find(item, []byte{b}, 0, 1)
			if err != nil {
				return 0, err
			}
			known[b], matched[b] = true, len(found) > 0
		}
		if run++; !matched[b] {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest, nil
}
