package ratelimit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-openapi/jsonpointer"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/understudy-mock/understudy/engine/ratelimit"
	"github.com/understudy-mock/understudy/internal/jsonsyntax"
	"github.com/understudy-mock/understudy/internal/yamlfile"
	"github.com/understudy-mock/understudy/spec"
)

// Invalid is the error for an invalid configuration; it lists all problems.
type Invalid struct{ Problems []Problem }

// Problem is one invalid value of a configuration.
type Problem struct {
	Key      string // such as strategy[0].limiter.window
	Value    string // as JSON, shortened; "" if it is missing
	Fault    string // what is wrong; "" if the value shows it
	Accepted string // what the value must be
}

// String is the problem in one line:
//
//	strategy[0].limiter.tokens: invalid value 0: must be an integer from 1 to 9007199254740991
func (p Problem) String() string {
	text := p.Key
	if p.Value != "" {
		text += ": " + spec.InvalidValue + " " + p.Value
	}
	if p.Fault != "" {
		text += ": " + p.Fault
	}
	return text + ": must be " + p.Accepted
}

// Error has one line per problem, sorted by key.
func (i *Invalid) Error() string {
	lines := make([]string, len(i.Problems))
	for n, p := range i.Problems {
		lines[n] = p.String()
	}
	return strings.Join(lines, "\n")
}

var loadSchema = sync.OnceValues(func() (*yamlfile.Schema, error) {
	return yamlfile.NewSchema("plugin.schema.json", spec.PluginSchema, map[string]func(string) error{"window": func(text string) error {
		_, err := ratelimit.ParseWindow(text)
		return err
	}})
})

// check validates the text of a configuration with the schema, and with the rules
// that a schema cannot express.
func check(text []byte) error {
	s, err := loadSchema()
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return syntax(text, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("rate-limit configuration: %s: unexpected text after the object: must be one JSON object", jsonsyntax.At(text, int(decoder.InputOffset())-1))
	}
	var problems []Problem
	var breach *jsonschema.ValidationError
	if err := s.Validate(document); errors.As(err, &breach) {
		problems = problemsOf(s, document, breach)
	} else if err != nil {
		return err
	}
	problems = append(problems, duplicates(document)...)
	problems = append(problems, repeatedKeys(json.NewDecoder(bytes.NewReader(text)), "")...)
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Fault, b.Fault))
	})
	return &Invalid{slices.Compact(problems)}
}

// syntax is the error for invalid JSON, with its line and column.
func syntax(text []byte, err error) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("rate-limit configuration: empty: must be one JSON object")
	}
	return errors.New("rate-limit configuration: " + jsonsyntax.Explain(text, err))
}

// problemsOf converts the leaves of a validation error into problems.
func problemsOf(s *yamlfile.Schema, document any, e *jsonschema.ValidationError) (out []Problem) {
	for _, cause := range e.Causes {
		out = append(out, problemsOf(s, document, cause)...)
	}
	pointer, err := jsonpointer.New(e.InstanceLocation)
	if err != nil || len(e.Causes) > 0 {
		return out
	}
	value, _, _ := pointer.Get(document) // the validator has found it
	rules := s.Violated(e)
	keys, _ := rules["properties"].(map[string]any)
	object, _ := value.(map[string]any)
	within := func(name string) string { return yamlfile.Dotted(e.InstanceLocation + "/" + jsonpointer.Escape(name)) }
	switch {
	case strings.HasSuffix(e.KeywordLocation, "/required"):
		for _, name := range rules["required"].([]any) {
			if _, ok := object[name.(string)]; !ok {
				out = append(out, Problem{Key: within(name.(string)), Fault: "missing", Accepted: accepted(keys[name.(string)])})
			}
		}
	case strings.HasSuffix(e.KeywordLocation, "/additionalProperties"):
		for name := range object {
			if keys[name] == nil {
				out = append(out, Problem{Key: within(name), Fault: "unknown key", Accepted: "one of " + strings.Join(slices.Sorted(maps.Keys(keys)), ", ")})
			}
		}
	default:
		out = append(out, Problem{Key: cmp.Or(yamlfile.Dotted(e.InstanceLocation), "configuration"), Value: shown(value), Fault: hint(value, rules), Accepted: accepted(rules)})
	}
	return out
}

func accepted(rules any) string {
	object, _ := rules.(map[string]any)
	text, _ := object["x-accepted"].(string)
	return text
}

// hint suggests the valid spelling of a value that differs only in case, spaces and
// hyphens, such as tokenBucket in an example of the document.
func hint(value any, rules map[string]any) string {
	text, _ := value.(string)
	names, _ := rules["enum"].([]any)
	for _, name := range names {
		if known, _ := name.(string); text != "" && letters(text) == letters(known) {
			return fmt.Sprintf("did you mean %q?", known)
		}
	}
	return ""
}

func letters(text string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(text))
}

// shown is a value as JSON, shortened.
func shown(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it came from JSON
	text := []rune(strings.TrimSpace(out.String()))
	if len(text) > 60 {
		return string(text[:57]) + "..."
	}
	return string(text)
}
