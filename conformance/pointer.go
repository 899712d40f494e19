package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// at is the value at a JSON pointer.
func at(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, v != nil
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// given is the value at a pointer, if it is set: of a value that the document
// describes without a name it does not say how its absence looks, so null is none.
func given(v any, pointer string) (any, bool) {
	found, ok := at(v, pointer)
	return found, ok && found != nil
}

// text is the text at a pointer.
func text(v any, pointer string) (string, bool) {
	found, ok := at(v, pointer)
	t, isText := found.(string)
	return t, ok && isText
}

// integer is the whole number at a pointer.
func integer(v any, pointer string) (int64, bool) {
	found, ok := at(v, pointer)
	n, isNumber := found.(json.Number)
	if !ok || !isNumber {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	return int64(f), err == nil && f == math.Trunc(f)
}

// plain is a value as a query or a comparison writes it: a whole number in digits,
// however the target writes it.
func plain(v any) string {
	if n, ok := integer(v, ""); ok {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprint(v)
}

// kindOf names the JSON type of a value, as failures say it.
func kindOf(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number:
		if _, err := x.Int64(); err == nil {
			return "an integer"
		}
		return "a number"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%T", v)
}

// fits reports whether a value is of a kind that a feature names.
func fits(v any, kind string) bool {
	switch kind {
	case "integer":
		_, ok := integer(v, "")
		return ok
	case "number":
		_, ok := v.(json.Number)
		return ok
	case "header map":
		return headerMap(v)
	case "array of string":
		list, ok := v.([]any)
		for _, one := range list {
			if _, isText := one.(string); !isText {
				return false
			}
		}
		return ok
	}
	got := strings.TrimPrefix(strings.TrimPrefix(kindOf(v), "a "), "an ")
	return got == kind
}

// headerMap reports whether a value maps names to arrays of strings.
func headerMap(v any) bool {
	m, ok := v.(map[string]any)
	for _, values := range m {
		if !fits(values, "array of string") {
			return false
		}
	}
	return ok
}

// shown is a value as a failure prints it.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(text))
}
