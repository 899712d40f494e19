package yamlfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/understudy-mock/understudy/internal/similar"
)

// Schema is a JSON Schema: compiled for validation, and plain for the texts of errors. Its
// member x-accepted says in words what a value must be.
type Schema struct {
	*jsonschema.Schema

	plain any
}

// NewSchema compiles a JSON Schema (2020-12). formats are the formats of texts that it uses
// besides those of the standard: each returns why a text is invalid.
func NewSchema(name string, text []byte, formats map[string]func(string) error) (*Schema, error) {
	s := &Schema{}
	if err := json.Unmarshal(text, &s.plain); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat, c.AssertContent = true, true
	for format, fault := range formats {
		c.Formats[format] = func(v any) bool {
			text, ok := v.(string)
			return !ok || fault(text) == nil
		}
	}
	err := c.AddResource("mem://"+name, bytes.NewReader(text))
	if err == nil {
		s.Schema, err = c.Compile("mem://" + name)
	}
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return s, nil
}

// Check returns the first violation of a schema in the order of the file.
func (f *File) Check(s *Schema) error {
	plain, err := f.JSON()
	if err != nil {
		return err
	}
	return f.CheckJSON(s, plain)
}

// CheckJSON is Check for callers that have the document as JSON already.
func (f *File) CheckJSON(s *Schema, plain []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return f.Fault(f.Root, "", err.Error())
	}
	var breach *jsonschema.ValidationError
	if err := s.Validate(value); !errors.As(err, &breach) {
		return err
	}
	return f.fault(s, f.first(breach))
}

// first returns the innermost cause that comes first in the file. A violated anyOf is
// reported as a whole. In one mapping, an unknown key explains a missing one.
func (f *File) first(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(e.Causes) == 0 || strings.HasSuffix(e.KeywordLocation, "/anyOf") {
		return e
	}
	leaves := make([]*jsonschema.ValidationError, len(e.Causes))
	for i, cause := range e.Causes {
		leaves[i] = f.first(cause)
	}
	return slices.MinFunc(leaves, func(x, y *jsonschema.ValidationError) int {
		at, other := f.At(instance(x)), f.At(instance(y))
		return cmp.Or(
			cmp.Compare(at.Line, other.Line), cmp.Compare(at.Column, other.Column),
			cmp.Compare(rank(x), rank(y)),
			cmp.Compare(len(x.KeywordLocation), len(y.KeywordLocation)), cmp.Compare(x.KeywordLocation, y.KeywordLocation), // the order of causes is random
		)
	})
}

// rank orders the violations of one value.
func rank(e *jsonschema.ValidationError) int {
	if strings.HasSuffix(e.KeywordLocation, "/additionalProperties") || strings.HasSuffix(e.KeywordLocation, nameEnum) {
		return 0
	}
	return 1
}

// nameEnum ends the location of a rule for the names of keys.
const nameEnum = "/propertyNames/enum"

// instance returns the place of the value that a violation is about. That of a rule for names
// is the place of the name, not of a value.
func instance(e *jsonschema.ValidationError) string {
	if strings.HasSuffix(e.KeywordLocation, nameEnum) {
		return e.InstanceLocation[:strings.LastIndex(e.InstanceLocation, "/")]
	}
	return e.InstanceLocation
}

// fault returns the error for a violation.
func (f *File) fault(s *Schema, breach *jsonschema.ValidationError) error {
	pointer := instance(breach)
	node, key := f.At(pointer), Dotted(pointer)
	rules := s.Violated(breach)
	switch {
	case strings.HasSuffix(breach.KeywordLocation, "/additionalProperties"):
		known, _ := rules["properties"].(map[string]any)
		return f.unknown(pointer, slices.Sorted(maps.Keys(known)))
	case strings.HasSuffix(breach.KeywordLocation, nameEnum):
		return f.unknown(pointer, texts(rules["enum"]))
	case strings.HasSuffix(breach.KeywordLocation, "/required"):
		for _, name := range texts(rules["required"]) {
			if Child(node, name) == nil {
				return f.Fault(node, Dotted(pointer+"/"+jsonpointer.Escape(name)), "missing: "+mustBe(s.property(rules, name), "must be set"))
			}
		}
	}
	show := Written
	if f.Show != nil {
		show = f.Show
	}
	text := mustBe(rules, breach.Message)
	if value := show(key, node); value != "" {
		text = "invalid value " + value + ": " + text
	}
	return f.Fault(node, key, text)
}

// unknown reports the first unknown key of a mapping, and suggests a similar one.
func (f *File) unknown(pointer string, known []string) error {
	node, text := f.At(pointer), "unknown key: must be one of "+strings.Join(known, ", ")
	for i := 0; i+1 < len(node.Content); i += 2 {
		if name := node.Content[i]; !slices.Contains(known, name.Value) && name.Tag != "!!merge" {
			return f.Fault(name, Dotted(pointer+"/"+jsonpointer.Escape(name.Value)), text+similar.DidYouMean(name.Value, known))
		}
	}
	return f.Fault(node, Dotted(pointer), text)
}

// property returns the rules for a key of a mapping.
func (s *Schema) property(rules map[string]any, name string) map[string]any {
	properties, _ := rules["properties"].(map[string]any)
	object, _ := properties[name].(map[string]any)
	if ref, ok := object["$ref"].(string); ok && object["x-accepted"] == nil {
		return s.at(ref)
	}
	return object
}

// Violated returns the object of the schema with the rule of a violation.
func (s *Schema) Violated(breach *jsonschema.ValidationError) map[string]any {
	location := breach.AbsoluteKeywordLocation
	return s.at(location[:strings.LastIndex(location, "/")])
}

// at returns the object of the schema at a location: a JSON pointer after #. It returns nil for none.
func (s *Schema) at(location string) map[string]any {
	_, text, _ := strings.Cut(location, "#")
	pointer, err := jsonpointer.New(text)
	if err != nil {
		return nil
	}
	rules, _, _ := pointer.Get(s.plain) // nil for an error
	object, _ := rules.(map[string]any)
	return object
}

// typeNames are the types of JSON Schema in the words of YAML.
var typeNames = map[string]string{
	"array": "a list", "boolean": "true or false", "integer": "an integer", "null": "null", "number": "a number", "object": "a mapping of keys to values", "string": "a string",
}

// mustBe says what a value must be, by its schema. otherwise is the text for a schema that
// does not say it.
func mustBe(rules map[string]any, otherwise string) string {
	if words, ok := rules["x-accepted"].(string); ok {
		return "must be " + words
	}
	if list := texts(rules["enum"]); len(list) > 0 {
		return "must be one of " + strings.Join(list, ", ")
	}
	if one, ok := rules["const"]; ok {
		return fmt.Sprintf("must be %v", one)
	}
	kind, _ := rules["type"].(string)
	words := typeNames[kind]
	least, hasLeast := rules["minimum"].(float64)
	most, hasMost := rules["maximum"].(float64)
	switch {
	case hasLeast && hasMost:
		words += " from " + number(least) + " to " + number(most)
	case rules["exclusiveMinimum"] != nil:
		words += fmt.Sprintf(" greater than %v", rules["exclusiveMinimum"])
	case hasLeast:
		words += " of " + number(least) + " or more"
	case kind == "string" && rules["minLength"] == 1.0:
		words = "a non-empty string"
	case kind == "array" && rules["minItems"] == 1.0:
		words = "a non-empty list"
	case kind == "array" && rules["uniqueItems"] == true:
		words = "a list without duplicates"
	}
	if list := texts(rules["type"]); len(list) > 0 {
		for i, name := range list {
			list[i] = typeNames[name]
		}
		words = strings.Join(list, " or ")
	}
	if words == "" || rules["pattern"] != nil || rules["format"] != nil {
		return otherwise
	}
	return "must be " + words
}

// texts returns the elements of a list as texts, nil for another value.
func texts(list any) (out []string) {
	all, _ := list.([]any)
	for _, one := range all {
		out = append(out, fmt.Sprint(one))
	}
	return out
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
