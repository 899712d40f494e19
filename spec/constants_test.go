package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// document is the part of an OpenAPI document that the constants come from.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"` // operations by method, and parameters
	Components struct {
		Parameters map[string]struct {
			Name   string `json:"name"`
			In     string `json:"in"`
			Greedy bool   `json:"x-greedy"`
		} `json:"parameters"`
	} `json:"components"`
	Headers []string `json:"x-headers"`
}

// operation is one route.
type operation struct{ method, path string }

// TestGeneratedDocuments compares the JSON documents, which load in two thirds of the time,
// with the YAML documents that people edit; and the constants for routes and header names with
// both.
func TestGeneratedDocuments(t *testing.T) {
	t.Parallel()
	routes, greedy, headers := map[string]operation{}, map[string]bool{}, map[string]bool{}
	for _, name := range []string{"openapi", "control"} {
		text := folded(t, name+".yaml")
		expect.Generated(t, name+".json", text)
		var d document
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for path, methods := range d.Paths {
			for method, text := range methods {
				var o struct{ OperationID string }
				if json.Unmarshal(text, &o) == nil { // parameters are a list, not an object
					routes[o.OperationID] = operation{strings.ToUpper(method), path}
				}
			}
		}
		for _, p := range d.Components.Parameters {
			if p.Greedy {
				greedy[p.Name] = true
			}
			if p.In == "header" && strings.HasPrefix(p.Name, "Svc-") {
				headers[p.Name] = true
			}
		}
		for _, name := range d.Headers {
			headers[name] = true
		}
	}
	expect.Generated(t, "route/route.gen.go", goFile(t, "route", routesOf(routes, greedy)))
	expect.Generated(t, "header/header.gen.go", goFile(t, "header", headersOf(headers)))
}

// TestGeneratedTypes compares the Go types of bodies with the schemas of the documents.
func TestGeneratedTypes(t *testing.T) {
	t.Parallel()
	if _, err := os.ReadFile("../go.mod"); err != nil { // so that go test knows what the tool depends on
		t.Fatal(err)
	}
	expect.Generated(t, "api/api.gen.go", typesOf(t, "api/config.yaml", "openapi.yaml"))
	expect.Generated(t, "api/control.gen.go", typesOf(t, "api/control.yaml", controlSchemas(t)))
}

func typesOf(t *testing.T, config, document string) string {
	t.Helper()
	generate := exec.CommandContext(t.Context(), "go", "tool", "oapi-codegen", "-config", config, document)
	var said bytes.Buffer
	generate.Stderr = &said
	types, err := generate.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	for _, input := range []string{config, document} { // so that go test knows what the tool reads
		expect.NoError(t, expect.ErrorOf(os.ReadFile(input)))
	}
	return string(types)
}

// controlSchemas writes a document with the schemas of control.yaml for the generator, such that
// one type serves the server, which fills it, and the clients, which read it: members keep their
// order, enums are texts, and of what is optional only objects are pointers.
func controlSchemas(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("control.yaml")
	expect.NoError(t, err)
	var doc struct {
		Components struct{ Schemas map[string]yaml.Node }
	}
	expect.NoError(t, yaml.Unmarshal(text, &doc))
	schemas := map[string]any{}
	for name, node := range doc.Components.Schemas {
		schemas[name] = plainSchema(t, &node)
	}
	text, err = json.Marshal(map[string]any{"openapi": "3.0.3", "info": map[string]string{"title": "Control", "version": "1"}, "paths": map[string]any{},
		"components": map[string]any{"schemas": schemas}})
	expect.NoError(t, err)
	file := t.TempDir() + "/control.json"
	expect.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

func plainSchema(t *testing.T, node *yaml.Node) map[string]any {
	t.Helper()
	var s map[string]any
	expect.NoError(t, node.Decode(&s))
	delete(s, "enum")
	required, _ := s["required"].([]any)
	for i := 0; i < len(node.Content); i += 2 {
		value := node.Content[i+1]
		switch node.Content[i].Value {
		case "type":
			if value.Value == "number" {
				s["format"] = "double"
			}
		case "items":
			s["items"] = plainSchema(t, value)
		case "properties":
			members := map[string]any{}
			for k := 0; k < len(value.Content); k += 2 {
				name := value.Content[k].Value
				member := plainSchema(t, value.Content[k+1])
				switch ref := member["$ref"]; ref {
				case nil:
				case "#/components/schemas/Headers":
					member = map[string]any{"x-go-type": "map[string][]string"}
				default:
					member = map[string]any{"allOf": []any{member}, "x-go-type-skip-optional-pointer": slices.Contains(required, any(name))}
				}
				member["x-order"] = k
				members[name] = member
			}
			s["properties"] = members
		}
	}
	return s
}

// folded is a YAML document as JSON with a line for each operation and each component, so that
// a change of one of them changes one line, and fragmentsOf can find it.
func folded(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	expect.NoError(t, err)
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var b strings.Builder
	fold(t, &b, doc, 3)
	return b.String() + "\n"
}

// fold writes the objects down to a depth on several lines, and the values in them on one line each.
func fold(t *testing.T, b *strings.Builder, value any, depth int) {
	t.Helper()
	object, ok := value.(map[string]any)
	if !ok || depth == 0 {
		text, err := json.Marshal(value)
		expect.NoError(t, err)
		b.Write(text)
		return
	}
	between := "{\n"
	for _, key := range slices.Sorted(maps.Keys(object)) {
		fmt.Fprintf(b, "%s%q:", between, key)
		fold(t, b, object[key], depth-1)
		between = ",\n"
	}
	b.WriteString("\n}")
}

func routesOf(routes map[string]operation, greedy map[string]bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, "// The routes, by operation.\nconst (")
	for _, id := range slices.Sorted(maps.Keys(routes)) {
		o := routes[id]
		fmt.Fprintf(&b, "%s Route = %q\n", exported(id), o.method+" "+o.path)
	}
	fmt.Fprintln(&b, ")\n\nvar byOperation = map[string]Route{")
	for _, id := range slices.Sorted(maps.Keys(routes)) {
		fmt.Fprintf(&b, "%q: %s,\n", id, exported(id))
	}
	fmt.Fprintln(&b, "}\n\n// greedy are the variables that may hold slashes.\nvar greedy = map[string]bool{")
	for _, name := range slices.Sorted(maps.Keys(greedy)) {
		fmt.Fprintf(&b, "%q: true,\n", name)
	}
	fmt.Fprintln(&b, "}")
	return b.String()
}

func headersOf(headers map[string]bool) string {
	names := slices.SortedFunc(maps.Keys(headers), func(a, b string) int { return cmp.Compare(constant(a), constant(b)) })
	var b strings.Builder
	fmt.Fprintln(&b, "// The names of headers. Those that end with Prefix begin a family.\nconst (")
	for _, name := range names {
		fmt.Fprintf(&b, "%s = %q\n", constant(name), canonical(name))
	}
	fmt.Fprintln(&b, ")\n\n// All are the names that stand for one header.\nvar All = []string{")
	for _, name := range names {
		if !strings.HasSuffix(name, "-") {
			fmt.Fprintf(&b, "%s,\n", constant(name))
		}
	}
	fmt.Fprintln(&b, "}")
	return b.String()
}

func exported(id string) string { return strings.ToUpper(id[:1]) + id[1:] }

// initialisms are written in capitals in Go.
var initialisms = strings.NewReplacer("Id", "ID", "Url", "URL", "Sdk", "SDK", "Ip", "IP")

// constant is the Go name of a header: without the prefix of a dialect.
func constant(name string) string {
	rest, family := strings.CutSuffix(strings.TrimPrefix(name, "Svc-"), "-")
	var b strings.Builder
	for part := range strings.SplitSeq(rest, "-") {
		b.WriteString(initialisms.Replace(part))
	}
	if family || rest == "" {
		b.WriteString("Prefix")
	}
	return b.String()
}

// canonical is a header's name as a key of an http.Header.
func canonical(name string) string {
	parts := strings.Split(name, "-")
	for i, part := range parts {
		if part != "" {
			parts[i] = strings.ToUpper(part[:1]) + strings.ToLower(part[1:])
		}
	}
	return strings.Join(parts, "-")
}

// goFile is a formatted Go file.
func goFile(t *testing.T, pkg, body string) string {
	t.Helper()
	text := []byte("// Code generated by spec/constants_test.go from the OpenAPI documents. DO NOT EDIT.\n\npackage " + pkg + "\n\n" + body)
	code, err := format.Source(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(code)
}
