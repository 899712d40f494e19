// Package drift is for tests. It compares a JSON Schema with the Go type into which files are
// decoded: both must have the same keys.
//
//	for _, problem := range drift.Between(schema, reflect.TypeFor[File](), "json") { t.Error(problem) }
package drift

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Between lists the keys that only one of them has. tag is the struct tag with the keys.
// Types with their own unmarshaler and types without keys are not compared further.
func Between(schema []byte, into reflect.Type, tag string) []string {
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		return []string{err.Error()}
	}
	c := comparison{root: root, tag: tag, seen: map[reflect.Type]bool{}}
	c.compare("", root, into)
	return c.problems
}

type comparison struct {
	root     map[string]any
	tag      string
	seen     map[reflect.Type]bool
	problems []string
}

func (c *comparison) compare(place string, schema map[string]any, into reflect.Type) {
	for ref, ok := schema["$ref"].(string); ok; ref, ok = schema["$ref"].(string) {
		schema = c.at(ref)
	}
	if schema["type"] == "array" {
		if items, ok := schema["items"].(map[string]any); ok && (into.Kind() == reflect.Slice || into.Kind() == reflect.Pointer) {
			c.compare(place+"[]", items, into.Elem())
		}
		return
	}
	if into.Kind() == reflect.Pointer {
		c.compare(place, schema, into.Elem())
		return
	}
	if rest, ok := schema["additionalProperties"].(map[string]any); ok && into.Kind() == reflect.Map {
		c.compare(place+".*", rest, into.Elem())
		return
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok || into.Kind() != reflect.Struct || readsItself(into) || c.seen[into] {
		return
	}
	c.seen[into] = true
	fields := map[string]reflect.Type{}
	c.collect(into, fields)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if fields[key] == nil {
			c.problems = append(c.problems, fmt.Sprintf("%s.%s: the schema has it, but %s has unknown field", place, key, into))
			continue
		}
		if property, ok := properties[key].(map[string]any); ok {
			c.compare(place+"."+key, property, fields[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if properties[key] == nil {
			c.problems = append(c.problems, fmt.Sprintf("%s.%s: %s has it, but the schema does not", place, key, into))
		}
	}
}

// collect lists the keys of a type, including embedded types.
func (c *comparison) collect(into reflect.Type, fields map[string]reflect.Type) {
	for field := range into.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get(c.tag), ",")
		switch {
		case field.Anonymous && name == "":
			c.collect(field.Type, fields)
		case name == "" && field.IsExported(): // without a tag, decoders ignore the case of the name
			fields[strings.ToLower(field.Name)] = field.Type
		case name != "-" && field.IsExported():
			fields[name] = field.Type
		}
	}
}

// at follows a reference within the schema.
func (c *comparison) at(ref string) map[string]any {
	node := c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		node, _ = node[part].(map[string]any)
	}
	return node
}

func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// Mutation is a document with one mistake.
type Mutation struct {
	Name  string // what differs, and where
	Value any
}

// wrong has one value of each JSON type.
var wrong = map[string]any{"null": nil, "a truth": true, "a text": "\x00nonsense", "a number": -7.5, "a list": []any{[]any{}}, "an object": map[string]any{"nonsense": map[string]any{}}}

// Mutations returns documents that each differ from a valid one in one place: a value of
// another type, an unknown key, or a missing key.
func Mutations(good any) []Mutation {
	var list []Mutation
	mutate("", good, func(name string, value any) { list = append(list, Mutation{name, value}) })
	return list
}

// mutate passes each mutation of a value to yield.
func mutate(place string, value any, yield func(name string, value any)) {
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		yield(place+" is "+name, wrong[name])
	}
	switch value := value.(type) {
	case map[string]any:
		changed := maps.Clone(value)
		changed["nonsense"] = "x"
		yield(place+" has an unknown key", changed)
		for _, key := range slices.Sorted(maps.Keys(value)) {
			without := maps.Clone(value)
			delete(without, key)
			yield(place+" lacks "+key, without)
			mutate(place+"."+key, value[key], func(name string, inner any) {
				changed := maps.Clone(value)
				changed[key] = inner
				yield(name, changed)
			})
		}
	case []any:
		for i := range value {
			mutate(fmt.Sprintf("%s[%d]", place, i), value[i], func(name string, inner any) {
				changed := slices.Clone(value)
				changed[i] = inner
				yield(name, changed)
			})
		}
	}
}
