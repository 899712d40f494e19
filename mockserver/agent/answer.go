package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxAnswer  = 20_000 // bytes of the text of an answer
	maxRun     = 6_000  // of a run without its events
	rows       = 20     // entries of a list, unless count says otherwise
	listBody   = 300    // bytes of each body in a list
	singleBody = 4_000  // bytes of each body in everything about one thing
)

// answer is what a tool returns, as JSON.
type answer struct {
	Result  any    `json:"result"`
	Page    string `json:"page,omitempty"`    // the view of the page that shows it
	Warning string `json:"warning,omitempty"` // of the server, such as an option that it does not know
	Cursor  string `json:"cursor,omitempty"`  // continues a list or a text
	Cut     string `json:"cut,omitempty"`     // what was left out, and how to see it

	most int // bytes; 0: maxAnswer
}

// text is the answer as text of a bounded size: long strings are cut before long lists.
func (a answer) text() string {
	full, most := written(a), cmp.Or(a.most, maxAnswer)
	if len(full) <= most {
		return full
	}
	whole := a.Result
	a.Cut = "long texts and lists are shortened; body reads a whole body in parts, list and deliveries read lists in parts, and events=true shows more of a run"
	for _, limit := range []struct{ text, list int }{{2000, 1 << 30}, {500, 1 << 30}, {500, 50}, {200, 20}, {100, 8}, {50, 2}} {
		a.Result = shortened(whole, limit.text, limit.list)
		if text := written(a); len(text) <= most {
			return text
		}
	}
	a.Result = nil
	a.Cut = fmt.Sprintf("the answer has %d bytes; use filters, or read one entry", len(full))
	return written(a)
}

// written is a value as JSON on one line, with characters such as < as they are.
func written(value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // decoded from JSON
	return strings.TrimSuffix(b.String(), "\n")
}

// shortened is a value with shorter texts and lists. Of a list, the first and the last entries stay.
func shortened(value any, text, list int) any {
	switch v := value.(type) {
	case string:
		return cut(v, text)
	case []any:
		if len(v) > list {
			value = slices.Concat(v[:list/2], []any{fmt.Sprintf("... %d more ...", len(v)-list)}, v[len(v)-list/2:])
		}
	}
	return inside(value, func(member any) any { return shortened(member, text, list) })
}

// inside is a value whose entries or members are replaced.
func inside(value any, by func(any) any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = by(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			out[name] = by(member)
		}
		return out
	}
	return value
}

// cut is the start of a text, with the number of bytes that are missing.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return fmt.Sprintf("%s... (%d more bytes)", text[:limit], len(text)-limit)
}

// listOf is the list in an answer, and the function that replaces it; nil for none.
func listOf(value any) (list []any, replace func([]any) any) {
	if list, ok := value.([]any); ok {
		return list, func(part []any) any { return part }
	}
	object, _ := value.(map[string]any)
	for name, member := range object {
		if list, ok := member.([]any); ok {
			return list, func(part []any) any { object[name] = part; return object }
		}
	}
	return nil, nil
}
