package similar_test

import (
	"testing"

	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestDidYouMean checks which words are close enough for a question.
func TestDidYouMean(t *testing.T) {
	t.Parallel()
	known := []string{"clock", "flowKeys", "id", "log-format", "log-level", "parallelism"}
	for _, c := range []struct{ name, word, want string }{
		{"a letter is missing", "clok", `; did you mean "clock"?`},
		{"another case", "CLOCK", `; did you mean "clock"?`},
		{"another separator", "flow_keys", `; did you mean "flowKeys"?`},
		{"only the beginning", "parallel", `; did you mean "parallelism"?`},
		{"the beginning of two words", "log-", ""},
		{"a short word of two changes", "at", ""},
		{"a short word with two letters exchanged", "di", `; did you mean "id"?`},
		{"another word", "destination", ""},
		{"the word itself", "clock", ""},
		{"an empty word", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "question", similar.DidYouMean(c.word, known), c.want)
		})
	}
}
