package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
)

// given is the value at a pointer, if it is set: of a value that the document
// describes without a name it does not say how its absence looks, so null is none.
func given(v any, pointer string) (any, bool) {
	found, ok := check.At(v, pointer)
	return found, ok && found != nil
}

// plain is a value as a query or a comparison writes it: a whole number in digits,
// however the target writes it.
func plain(v any) string {
	if n, ok := check.Integer(v, ""); ok {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprint(v)
}

// shown is a value as a failure prints it.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(text))
}
