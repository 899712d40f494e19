package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/internal/clip"
)

// Decode returns the JSON of a body, nil if it is not one JSON value.
func Decode(body []byte) any {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil || decoder.Decode(new(any)) != io.EOF {
		return nil
	}
	return v
}

// unescaped replaces the escapes in a part of a JSON pointer.
var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// At returns the value at a JSON pointer.
func At(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, v != nil
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if strings.Contains(part, "~") {
			part = unescaped.Replace(part)
		}
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

// Text returns the string at a pointer.
func Text(v any, pointer string) (string, bool) {
	found, ok := At(v, pointer)
	t, isText := found.(string)
	return t, ok && isText
}

// List returns the array at a pointer.
func List(v any, pointer string) ([]any, bool) {
	at, _ := At(v, pointer)
	list, ok := at.([]any)
	return list, ok
}

// Integer returns the integer at a pointer.
func Integer(v any, pointer string) (int64, bool) {
	found, ok := At(v, pointer)
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

// KindOf names the JSON type of a value, for texts of failures.
func KindOf(v any) string {
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

// Fits reports whether a value has a kind that a feature file names.
func Fits(v any, kind string) bool {
	switch kind {
	case "integer":
		_, ok := Integer(v, "")
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
	got := strings.TrimPrefix(strings.TrimPrefix(KindOf(v), "a "), "an ")
	return got == kind
}

// headerMap reports whether a value maps names to arrays of strings.
func headerMap(v any) bool {
	m, ok := v.(map[string]any)
	for _, values := range m {
		if !Fits(values, "array of string") {
			return false
		}
	}
	return ok
}

// Article prefixes a kind with its article.
func Article(kind string) string {
	if strings.HasPrefix(kind, "a") || strings.HasPrefix(kind, "i") || strings.HasPrefix(kind, "o") {
		return "an " + kind
	}
	return "a " + kind
}

// maxShown is how much of a value a breach contains, in bytes.
const maxShown = 200

// Shown is the JSON of a value, shortened to maxShown.
func Shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip.Sized(string(text), maxShown)
}

// statsTime matches the time of a point. The document does not show what separates
// date and time: a space or a T.
var statsTime = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)([ T])(\d\d:\d\d:\d\d\.\d+) \+0000 UTC$`)

// StatsTimeExample is a time of the statistics as the document describes it.
const StatsTimeExample = "2025-10-01 11:33:05.585757103 +0000 UTC"

// StatsTime parses the time x of a point of the statistics. It also returns the
// separator of date and time.
func StatsTime(point any) (at time.Time, separator string, ok bool) {
	x, _ := Text(point, "/x")
	parts := statsTime.FindStringSubmatch(x)
	if parts == nil {
		return time.Time{}, "", false
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999999", parts[1]+" "+parts[3])
	return at, parts[2], err == nil
}
