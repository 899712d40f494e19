package pypi

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/expect"
)

// schema is the part of JSON Schema that the document uses for answers.
type schema struct {
	Ref         string            `json:"$ref"`
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Enum        []string          `json:"enum"`
	AnyOf       []schema          `json:"anyOf"`
	Items       *schema           `json:"items"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Additional  json.RawMessage   `json:"additionalProperties"` // true, false or a schema
}

// response is an answer of an operation.
type response struct {
	Content map[string]struct {
		Schema schema `json:"schema"`
	} `json:"content"`
}

const header = `# Code generated from spec/control.yaml by packaging/pypi/types_test.go. DO NOT EDIT.
"""The answers of the control API, as the server checks them before it sends them.

A class whose name begins with an underscore has the keys that are always there.
"""

from typing import Any, Dict, List, Literal, TypedDict, Union

`

// TestGeneratedTypes writes the answers of the control API as Python types, so that the helper
// of the PyPI package does not repeat them.
//
// Each schema and each successful response of the document becomes a TypedDict. Python 3.9
// has no NotRequired: a class with required and optional keys has its required keys in a base
// class.
func TestGeneratedTypes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../spec/control.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Components struct {
			Schemas   map[string]schema   `json:"schemas"`
			Responses map[string]response `json:"responses"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	named := d.Components.Schemas
	for name, r := range d.Components.Responses {
		if s := r.Content["application/json"].Schema; s.Ref == "" && (s.Type == "array" || len(s.Properties) > 0) {
			named[name] = s
		}
	}
	w := writer{known: named, done: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		w.define(name, named[name])
	}
	expect.Generated(t, "src/understudy_mock/control_types.py", header+strings.TrimSuffix(w.out.String(), "\n"))
}

// writer writes each class after the classes that it uses.
type writer struct {
	known map[string]schema
	done  map[string]bool
	out   strings.Builder
}

var identifier = regexp.MustCompile(`^[a-zA-Z]\w*$`)

// keywords are the words that Python does not allow as the name of a field of a class.
var keywords = []string{"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
	"else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
	"pass", "raise", "return", "try", "while", "with", "yield", "False", "None", "True"}

// define writes a schema under a name, once.
func (w *writer) define(name string, s schema) {
	if w.done[name] {
		return
	}
	w.done[name] = true
	if len(s.Properties) == 0 {
		fmt.Fprintf(&w.out, "\n%s = %s\n\n", name, w.typeOf(name, &s))
		return
	}
	var required, optional []string
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if !identifier.MatchString(key) || slices.Contains(keywords, key) {
			log.Fatalf("%s: key %q: must be a letter, then letters, digits and _, and no keyword of Python", name, key)
		}
		p := s.Properties[key]
		line := fmt.Sprintf("    %s: %s\n", key, w.typeOf(name+strings.ToUpper(key[:1])+key[1:], &p))
		if p.Description != "" {
			line = "    # " + p.Description + "\n" + line
		}
		if slices.Contains(s.Required, key) {
			required = append(required, line)
		} else {
			optional = append(optional, line)
		}
	}
	switch {
	case len(optional) == 0:
		w.class(name, "TypedDict", s.Description, required)
	case len(required) == 0:
		w.class(name, "TypedDict, total=False", s.Description, optional)
	default:
		w.class("_"+name, "TypedDict", "", required)
		w.class(name, "_"+name+", total=False", s.Description, optional)
	}
}

func (w *writer) class(name, base, description string, lines []string) {
	fmt.Fprintf(&w.out, "\nclass %s(%s):\n", name, base)
	if description != "" {
		fmt.Fprintf(&w.out, "    \"\"\"%s\"\"\"\n\n", description)
	}
	w.out.WriteString(strings.Join(lines, "") + "\n")
}

// typeOf is a schema as a Python type. Objects in it become classes with this name.
func (w *writer) typeOf(name string, s *schema) string {
	switch {
	case s.Ref != "":
		name = s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		w.define(name, w.known[name])
		return name
	case len(s.AnyOf) > 0:
		var list []string
		for i := range s.AnyOf {
			list = append(list, w.typeOf(name, &s.AnyOf[i]))
		}
		return "Union[" + strings.Join(list, ", ") + "]"
	case len(s.Enum) > 0:
		return `Literal["` + strings.Join(s.Enum, `", "`) + `"]`
	case s.Type == "array":
		return "List[" + w.typeOf(name, s.Items) + "]"
	case len(s.Properties) > 0:
		w.define(name, *s)
		return name
	case s.Type == "object":
		var values schema
		if json.Unmarshal(s.Additional, &values) != nil { // additionalProperties is true
			return "Dict[str, Any]"
		}
		return "Dict[str, " + w.typeOf(name, &values) + "]"
	}
	if plain := map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[s.Type]; plain != "" {
		return plain
	}
	return "Any"
}
