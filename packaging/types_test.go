package packaging

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestGeneratedTypes writes the control document as types for the helpers of the npm and the PyPI
// package: the schemas and the answers for both, and for TypeScript also the method, path, query,
// body and answer of each operation.
func TestGeneratedTypes(t *testing.T) {
	t.Parallel()
	d, err := openapi3.NewLoader().LoadFromFile("../spec/control.yaml")
	expect.NoError(t, err)
	named := namedTypes(d)
	const origin = " Code generated from spec/control.yaml by packaging/types_test.go. DO NOT EDIT.\n"
	expect.Generated(t, "npm/understudy-mock/control.d.ts", "//"+origin+"\n"+typescriptTypes(named)+typescriptOperations(d, named))
	p := python39{named: named, done: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		p.define(name, named[name])
	}
	expect.Generated(t, "pypi/src/understudy_mock/control_types.py", "#"+origin+pythonHead+strings.TrimSuffix(p.out.String(), "\n"))
}

// namedTypes are the schemas of the document, and the answers that are not only a reference to a
// schema.
func namedTypes(d *openapi3.T) map[string]*openapi3.Schema {
	named := map[string]*openapi3.Schema{}
	for name, s := range d.Components.Schemas {
		named[name] = s.Value
	}
	for name, r := range d.Components.Responses {
		if media := r.Value.Content["application/json"]; media != nil && media.Schema.Ref == "" && media.Schema.Value.Type != nil {
			named[name] = media.Schema.Value
		}
	}
	return named
}

// plain is a word of both languages.
var plain = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// literals are the values of an enum as JSON, which both languages read.
func literals(enum []any, between string) string {
	list := make([]string, len(enum))
	for i, v := range enum {
		text, _ := json.Marshal(v) // it was read as JSON
		list[i] = string(text)
	}
	return strings.Join(list, between)
}

func typescriptTypes(named map[string]*openapi3.Schema) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(named)) {
		s := named[name]
		b.WriteString(typescriptComment("", s.Description))
		if len(s.Properties) > 0 {
			fmt.Fprintf(&b, "export interface %s %s\n\n", name, typescriptObject(s, ""))
		} else {
			fmt.Fprintf(&b, "export type %s = %s;\n\n", name, typescript(s.NewRef(), ""))
		}
	}
	return b.String()
}

// typescriptOperations is the type with an entry for each operation that answers in JSON.
func typescriptOperations(d *openapi3.T, named map[string]*openapi3.Schema) string {
	entries := map[string]string{}
	for route, item := range d.Paths.Map() {
		for method, o := range item.Operations() {
			r := o.Responses.Value("200")
			if !slices.Contains(o.Tags, "control") || r == nil || r.Value.Content["application/json"] == nil {
				continue
			}
			answer := path.Base(r.Ref)
			if media := r.Value.Content["application/json"]; r.Ref == "" || media.Schema.Ref != "" || named[answer] == nil {
				answer = typescript(media.Schema, "    ")
			}
			entries[o.OperationID] = fmt.Sprintf("%s  %s: {\n    method: %q;\n    path: %q;\n%s    response: %s;\n  };\n",
				typescriptComment("  ", o.Summary), o.OperationID, method, route, typescriptRequest(o), answer)
		}
	}
	var b strings.Builder
	b.WriteString("/** The operations of the control API that answer in JSON, by operationId. */\nexport interface Operations {\n")
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		b.WriteString(entries[id])
	}
	return b.String() + "}\n"
}

// typescriptRequest has the lines for the query and the body of an operation.
func typescriptRequest(o *openapi3.Operation) string {
	query, body := &openapi3.Schema{Properties: openapi3.Schemas{}}, ""
	for _, p := range o.Parameters {
		if p.Value.In == "query" {
			s := *p.Value.Schema.Value
			s.Description = p.Value.Description
			query.Properties[p.Value.Name] = s.NewRef()
		}
	}
	if o.RequestBody != nil {
		body = "    body: unknown;\n"
		if media := o.RequestBody.Value.Content["application/json"]; media != nil {
			body = fmt.Sprintf("    body: %s;\n", typescript(media.Schema, "    "))
		}
	}
	fields := "Record<string, never>"
	if len(query.Properties) > 0 {
		fields = typescriptObject(query, "    ")
	}
	return "    query: " + fields + ";\n" + body
}

// typescript is a schema as a type. Lines after the first one are indented.
func typescript(ref *openapi3.SchemaRef, indent string) string {
	s := ref.Value
	switch {
	case ref.Ref != "":
		return path.Base(ref.Ref)
	case len(s.AnyOf) > 0:
		var list []string
		for _, one := range s.AnyOf {
			list = append(list, typescript(one, indent))
		}
		return strings.Join(list, " | ")
	case len(s.Enum) > 0:
		return literals(s.Enum, " | ")
	case s.Type == nil:
		return "unknown"
	case s.Type.Is("array"):
		item := typescript(s.Items, indent)
		if strings.Contains(item, " | ") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case len(s.Properties) > 0:
		return typescriptObject(s, indent)
	case s.Type.Is("object") && s.AdditionalProperties.Schema != nil:
		return "Record<string, " + typescript(s.AdditionalProperties.Schema, indent) + ">"
	case s.Type.Is("object") && (s.MaxProps != nil || s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has):
		return "Record<string, never>"
	case s.Type.Is("object"):
		return "Record<string, unknown>"
	case s.Type.Is("integer"):
		return "number"
	}
	return s.Type.Slice()[0]
}

// typescriptObject is an object with known members.
func typescriptObject(s *openapi3.Schema, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, optional := s.Properties[name], "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		if p.Ref == "" {
			b.WriteString(typescriptComment(indent+"  ", p.Value.Description))
		}
		if !plain.MatchString(name) {
			name = fmt.Sprintf("%q", name)
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, name, optional, typescript(p, indent+"  "))
	}
	if open := s.AdditionalProperties.Has; open != nil && *open {
		fmt.Fprintf(&b, "%s  [name: string]: unknown;\n", indent)
	}
	return b.String() + indent + "}"
}

// typescriptComment is a description as a comment, nothing for an empty one.
func typescriptComment(indent, text string) string {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	return fmt.Sprintf("%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "* /"))
}

const pythonHead = `"""The answers of the control API, as the server checks them before it sends them.

A class whose name begins with an underscore has the keys that are always there.
"""

from typing import Any, Dict, List, Literal, TypedDict, Union

`

// python39 writes each class after the classes that it uses. Python 3.9 has no NotRequired: a
// class with required and optional keys has its required keys in a base class.
type python39 struct {
	named map[string]*openapi3.Schema
	done  map[string]bool
	out   strings.Builder
}

// pythonKeywords cannot be the name of a field of a class.
var pythonKeywords = strings.Fields("and as assert async await break class continue def del elif else except finally for from global if import in is lambda " +
	"nonlocal not or pass raise return try while with yield False None True")

// define writes a schema under a name, once.
func (w *python39) define(name string, s *openapi3.Schema) {
	if w.done[name] {
		return
	}
	w.done[name] = true
	if len(s.Properties) == 0 {
		fmt.Fprintf(&w.out, "\n%s = %s\n\n", name, w.typeOf(name, s.NewRef()))
		return
	}
	var required, optional []string
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if !plain.MatchString(key) || slices.Contains(pythonKeywords, key) {
			panic(fmt.Sprintf("%s: key %q: must be a letter, then letters, digits and _, and no keyword of Python", name, key))
		}
		p := s.Properties[key]
		line := fmt.Sprintf("    %s: %s\n", key, w.typeOf(name+strings.ToUpper(key[:1])+key[1:], p))
		if p.Ref == "" && p.Value.Description != "" {
			line = "    # " + p.Value.Description + "\n" + line
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

func (w *python39) class(name, base, description string, lines []string) {
	fmt.Fprintf(&w.out, "\nclass %s(%s):\n", name, base)
	if description != "" {
		fmt.Fprintf(&w.out, "    \"\"\"%s\"\"\"\n\n", description)
	}
	w.out.WriteString(strings.Join(lines, "") + "\n")
}

// typeOf is a schema as a type. Objects in it become classes with this name.
func (w *python39) typeOf(name string, ref *openapi3.SchemaRef) string {
	s := ref.Value
	switch {
	case ref.Ref != "":
		name = path.Base(ref.Ref)
		w.define(name, s)
		return name
	case len(s.AnyOf) > 0:
		var list []string
		for _, one := range s.AnyOf {
			list = append(list, w.typeOf(name, one))
		}
		return "Union[" + strings.Join(list, ", ") + "]"
	case len(s.Enum) > 0:
		return "Literal[" + literals(s.Enum, ", ") + "]"
	case s.Type == nil:
		return "Any"
	case s.Type.Is("array"):
		return "List[" + w.typeOf(name, s.Items) + "]"
	case len(s.Properties) > 0:
		w.define(name, s)
		return name
	case s.Type.Is("object") && s.AdditionalProperties.Schema != nil:
		return "Dict[str, " + w.typeOf(name, s.AdditionalProperties.Schema) + "]"
	}
	return map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "Dict[str, Any]"}[s.Type.Slice()[0]]
}
