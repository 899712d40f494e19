package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/jsonsyntax"
)

// ruleField is a member of a stub or a fault as text.
type ruleField struct{ Name, Value string }

// ruleFields returns all members of a rule, also ones that the page does not know.
func ruleFields(rule json.RawMessage) ([]ruleField, error) {
	var members doc
	if err := json.Unmarshal(rule, &members); err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	return orderedFields(members, "on", "method", "url", "operation", "preset", "answers", "status"), nil
}

// orderedFields returns the members of an object, those with the given names first.
func orderedFields(members doc, first ...string) (fields []ruleField) {
	for _, name := range append(first, slices.Sorted(maps.Keys(members))...) {
		if value, ok := members[name]; ok {
			fields = append(fields, ruleField{name, ruleValue(value)})
			delete(members, name)
		}
	}
	return fields
}

// ruleValue is a value as text. The answers of a stub are joined with "then".
func ruleValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = ruleValue(v[i])
		}
		return strings.Join(parts, ", then ")
	case doc:
		var parts []string
		for _, f := range orderedFields(v, "status", "fail") {
			parts = append(parts, strings.TrimPrefix(strings.TrimPrefix(f.Name+" "+f.Value, "status "), "fail "))
		}
		return strings.Join(parts, " ")
	}
	text, _ := json.Marshal(v) // values that come from JSON always encode
	return string(text)
}

// changedRule is the JSON in a form, with the credentials of the rule that the page has masked.
func changedRule(rule json.RawMessage, f form) (json.RawMessage, error) {
	values := [3]any{}
	for i, text := range [][]byte{[]byte(f.Get("json")), []byte(f.Get("rule")), rule} {
		if err := json.Unmarshal(text, &values[i]); err != nil {
			return rule, fmt.Errorf("json: %s", jsonsyntax.Explain(text, err))
		}
	}
	return json.Marshal(unmasked(values[0], values[1], values[2]))
}

// unmasked puts the credentials of the real rule into a changed one, where it equals the rule as
// it was shown, with masked credentials.
func unmasked(changed, shown, real any) any {
	if reflect.DeepEqual(changed, shown) {
		return real
	}
	switch to := changed.(type) {
	case doc:
		from, isDoc := shown.(doc)
		known, _ := real.(doc)
		for name := range to {
			if value, there := from[name]; isDoc && there {
				to[name] = unmasked(to[name], value, known[name])
			}
		}
	case []any:
		from, _ := shown.([]any)
		known, _ := real.([]any)
		for i := range min(len(to), len(from), len(known)) {
			to[i] = unmasked(to[i], from[i], known[i])
		}
	}
	return changed
}
