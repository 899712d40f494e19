package harness

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
)

// Given is the value at a pointer, if it is set: of a value that the document
// describes without a name it does not say how its absence looks, so null is none.
func Given(v any, pointer string) (any, bool) {
	found, ok := check.At(v, pointer)
	return found, ok && found != nil
}

// Plain is a value as a query or a comparison writes it: a whole number in digits,
// however the target writes it.
func Plain(v any) string {
	if n, ok := check.Integer(v, ""); ok {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprint(v)
}

// Shown is a value as a failure prints it.
func Shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return Clip(string(text))
}

// QuotedNames are the texts in quotes.
func QuotedNames(list string) []string {
	var out []string
	for i, part := range strings.Split(list, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		}
	}
	return out
}
