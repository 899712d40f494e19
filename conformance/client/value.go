package client

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
)

// encode writes a value as one line of JSON, without escapes that JSON does not need.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// shown is a value as JSON in one line, for people.
func shown(v any) string {
	text, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clipped(string(text))
}

// clipped shortens a text for people.
func clipped(text string) string { return clip.Sized(text, 600) }

// decode reads one JSON value. Numbers keep their digits, and {"$int":"..."} is a number.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after the JSON value: %.100s", text)
	}
	return integers(v), nil
}

// integers replaces {"$int":"..."} by the number.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if text, ok := v["$int"].(string); ok && len(v) == 1 {
			return json.Number(text)
		}
		for name := range v {
			v[name] = integers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return v
}

// variable matches a variable in a case.
var variable = regexp.MustCompile(`\$[a-z][a-z0-9_]*`)

// fill replaces variables in all texts of a value. A text that is one variable becomes its value,
// of whatever type. Unknown variables stay.
func fill(v any, vars map[string]any) any {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "$") {
			return v
		}
		if whole, ok := vars[strings.TrimPrefix(v, "$")]; ok && v[0] == '$' {
			return whole
		}
		return variable.ReplaceAllStringFunc(v, func(name string) string {
			if value, ok := vars[name[1:]]; ok {
				return fmt.Sprint(value)
			}
			return name
		})
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			name, _ := fill(name, vars).(string)
			out[name] = fill(member, vars)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fill(v[i], vars)
		}
		return out
	}
	return v
}

// filled returns a value of a case, as a T, with its variables replaced.
func filled[T any](from any, vars map[string]any) (*T, error) {
	text, err := encode(from)
	if err != nil {
		return nil, err
	}
	out := new(T)
	if bytes.IndexByte(text, '$') < 0 {
		return out, strict(json.RawMessage(text), out)
	}
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	return out, strict(fill(v, vars), out)
}

// merge lays one object over another, member by member. A member that is null removes one.
func merge(under, over any) any {
	a, ok := under.(map[string]any)
	b, both := over.(map[string]any)
	if over == nil {
		return under
	}
	if !ok || !both {
		return over
	}
	out := make(map[string]any, len(a)+len(b))
	maps.Copy(out, a)
	for name, v := range b {
		if v == nil {
			delete(out, name)
			continue
		}
		out[name] = merge(out[name], v)
	}
	return out
}

// payload is the bytes of {"text"}, {"base64"} or {"json"}; ok is false for none.
func payload(v any) (body []byte, ok bool) {
	of, _ := v.(map[string]any)
	if text, ok := of["text"].(string); ok {
		return []byte(text), true
	}
	if text, ok := of["base64"].(string); ok {
		body, _ = base64.StdEncoding.DecodeString(text)
		return body, true
	}
	if value, ok := of["json"]; ok {
		body, _ = encode(value)
		return body, true
	}
	return nil, false
}

// differs compares a value with what it must have, and returns the JSON pointer of the first
// difference. Members that are not wanted may be present, unless exact. The wanted text "$absent"
// means absent or null, "$any" anything but that, and {any_of: [...]} one of several.
func differs(want, got any, at string, exact bool) (pointer string, wanted, actual any, different bool) {
	list := alternatives(want)
	if want = list[0]; len(list) > 1 {
		return at, list[len(list)-1], got, !slices.ContainsFunc(list, func(one any) bool {
			_, _, _, bad := differs(one, got, at, exact)
			return !bad
		})
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at, want, got, true
		}
		for _, name := range slices.Sorted(maps.Keys(w)) {
			if p, a, b, bad := differs(w[name], g[name], at+"/"+name, exact); bad {
				return p, a, b, true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(g)) {
			if _, known := w[name]; exact && !known {
				return at + "/" + name, nil, g[name], true
			}
		}
		return "", nil, nil, false
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return at, want, got, true
		}
		for i := range w {
			if p, a, b, bad := differs(w[i], g[i], fmt.Sprintf("%s/%d", at, i), exact); bad {
				return p, a, b, true
			}
		}
		return "", nil, nil, false
	case string:
		switch w {
		case "$absent":
			return at, "nothing", got, got != nil
		case "$any":
			return at, "a value", got, got == nil
		}
	}
	if list, ok := got.([]any); want == nil && ok && len(list) == 0 {
		return "", nil, nil, false
	}
	return at, want, got, !equal(want, got)
}

// alternatives are the values of {any_of: [...]}, or the value itself.
func alternatives(v any) []any {
	of, _ := v.(map[string]any)
	if list, several := of["any_of"].([]any); several {
		return list
	}
	return []any{v}
}

// equal compares two plain values; numbers by their digits.
func equal(a, b any) bool {
	x, number := digits(a)
	y, both := digits(b)
	if number || both {
		return number && both && x == y
	}
	return a == b
}

// digits is a number in one form: 1, 1.0 and 1e0 are equal, and integers keep all digits.
func digits(v any) (string, bool) {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case int, int64, float64:
		encoded, _ := encode(v)
		text = string(encoded)
	default:
		return "", false
	}
	if strings.ContainsAny(text, ".eE") {
		var f float64
		if json.Unmarshal([]byte(text), &f) == nil {
			encoded, _ := encode(f)
			text = string(encoded)
		}
	}
	return text, true
}
