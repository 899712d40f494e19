package harness

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
)

// Given returns the value at a pointer and whether it is set. A null counts as not set: the
// document describes these values without a name, and does not define how a target omits them.
func Given(v any, pointer string) (any, bool) {
	found, ok := check.At(v, pointer)
	return found, ok && found != nil
}

// Plain formats a value for queries and comparisons. A whole number is formatted in digits,
// in whatever form the target writes it.
func Plain(v any) string {
	if n, ok := check.Integer(v, ""); ok {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprint(v)
}

// Shown formats a value for a failure, as JSON of limited length.
func Shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return Clip(string(text))
}

// QuotedNames returns the texts between double quotes.
func QuotedNames(list string) []string {
	var out []string
	for i, part := range strings.Split(list, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		}
	}
	return out
}
