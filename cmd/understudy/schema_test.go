package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/internal/markdown"
	"github.com/understudy-mock/understudy/internal/testkit/drift"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/spec"
)

// compiled compiles a schema as editors do: without checks of formats that only the loaders
// know.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := schemaNamed(name)
	expect.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	expect.NoError(t, c.AddResource("mem://"+name, bytes.NewReader(text)))
	schema, err := c.Compile("mem://" + name)
	expect.NoError(t, err)
	return schema
}

// parsed converts YAML to JSON values.
func parsed(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	expect.NoError(t, yaml.Unmarshal(text, &value))
	plain, err := json.Marshal(value)
	expect.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	expect.NoError(t, d.Decode(&value))
	return value
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	return text
}

var schemaLine = regexp.MustCompile(`\A# yaml-language-server: \$schema=(\S*?)(\w+)\.schema\.json\n`)

// TestExampleFilesFollowTheirSchemas checks every example file, every example in the
// documentation and the fixture of the tests against the schema that its first line names.
func TestExampleFilesFollowTheirSchemas(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/files/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("got %d example files and %v, want 5", len(files), err)
	}
	for _, path := range append(files, "../../mockserver/testdata/fixture.yaml") {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			text := readFile(t, path)
			m := schemaLine.FindSubmatch(text)
			if m == nil {
				t.Fatalf("the first line must be # yaml-language-server: $schema=PATH/NAME.schema.json")
			}
			file := filepath.Join(filepath.Dir(path), string(m[1])+string(m[2])+".schema.json")
			want, err := schemaNamed(string(m[2]))
			expect.NoError(t, err)
			if diff := cmp.Diff(string(want), string(readFile(t, file))); diff != "" {
				t.Errorf("the schema that the first line names (want -, got +):\n%s", diff)
			}
			if err := compiled(t, string(m[2])).Validate(parsed(t, text)); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	examples := 0
	for _, page := range pageFiles(t) {
		path := filepath.Join("../..", page)
		for _, block := range markdown.Parse(readFile(t, path)).Blocks {
			m := schemaLine.FindStringSubmatch(block.Text)
			if m == nil || block.Language != "yaml" {
				continue
			}
			examples++
			if err := compiled(t, m[2]).Validate(parsed(t, []byte(block.Text))); err != nil {
				t.Errorf("%s:%d: %v", path, block.Line, err)
			}
		}
	}
	if examples == 0 {
		t.Error("no example in the documentation names its schema")
	}
}

// TestGeneratedSchemas compares the schema files for editors with the output of `spec --schema`.
func TestGeneratedSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"config", "stubs"} {
		path := "../../spec/" + name + ".schema.json"
		want, err := schemaNamed(name)
		expect.NoError(t, err)
		expect.Generated(t, path, string(want))
	}
}

// TestSchemasAndLoadersHaveTheSameKeys compares schemas with the types into which files are
// decoded. The test for the target file is in package target.
func TestSchemasAndLoadersHaveTheSameKeys(t *testing.T) {
	t.Parallel()
	stubs, err := spec.StubsSchema()
	expect.NoError(t, err)
	for name, c := range map[string]struct {
		schema []byte
		into   reflect.Type
	}{
		"fixture": {spec.FixtureSchema, reflect.TypeFor[saved.FixtureFile]()},
		"plugin":  {spec.PluginSchema, reflect.TypeFor[ratelimit.Config]()},
		"stubs":   {stubs, reflect.TypeFor[[]stub.Stub]()},
	} {
		for _, problem := range drift.Between(c.schema, c.into, "json") {
			if !strings.Contains(problem, "].queue: ") { // DLQ entries and schedules share the type of messages, but have no queue
				t.Errorf("%s%s", name, problem)
			}
		}
	}
}

// idleServe has the flags of serve and does nothing.
type idleServe struct {
	ServeCmd `embed:""`
}

// Run is what kong calls.
func (*idleServe) Run(*env) error { return nil }

// loadConfig returns the error of the command line for a settings file.
func loadConfig(t *testing.T, value any) error {
	t.Helper()
	text, err := yaml.Marshal(value)
	expect.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config.yaml")
	expect.NoError(t, os.WriteFile(file, text, 0o600))
	var errs bytes.Buffer
	model := &struct {
		globalFlags
		Serve idleServe `cmd:"" set:"addr=127.0.0.1:0" set:"loglevel=info"`
	}{}
	p := command.Program{Name: "understudy", CLI: model, Env: &env{}}
	if p.Run([]string{"serve", "--config", file}, io.Discard, &errs) != command.ExitFine {
		return errors.New(errs.String())
	}
	return nil
}

// TestConfigSchemaRefusesWhatTheLoaderRefuses tries values of every type for each key.
func TestConfigSchemaRefusesWhatTheLoaderRefuses(t *testing.T) {
	t.Parallel()
	schema := compiled(t, "config")
	text, err := configSchema()
	expect.NoError(t, err)
	var known struct{ Properties map[string]any }
	expect.NoError(t, json.Unmarshal(text, &known))
	refused := 0
	try := func(key string, value any) {
		t.Helper()
		loads := loadConfig(t, map[string]any{key: value})
		validates := schema.Validate(map[string]any{key: value})
		if loads != nil {
			refused++
		}
		if loads != nil && validates == nil {
			t.Errorf("%s: %#v: the schema accepts what the loader refuses: %v", key, value, loads)
		}
	}
	for key := range known.Properties {
		if err := loadConfig(t, map[string]any{key: "\x01"}); err != nil && strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s: the schema has a key that is unknown to the loader: %v", key, err)
		}
		for _, value := range []any{nil, true, "nonsense", "", "7", 7, -7, 1.5, []any{}, []any{"a"}, []any{nil}, []any{map[string]any{}}, map[string]any{"a": "b"}, map[string]any{"a": nil}} {
			try(key, value)
		}
	}
	for _, key := range []string{"nonsense", "config", "version", "help", "no-validate-responses", "url", "target"} {
		try(key, "x")
	}
	if refused < 100 {
		t.Errorf("the loader refused %d values, want at least 100", refused)
	}
}

// TestConfigSchemaRefusesWhatServeRefuses starts the program with values that it refuses
// after it has read the settings file, and with some that it accepts.
func TestConfigSchemaRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	binary, schema := build(t), compiled(t, "config")
	for name := range flagTexts {
		for _, value := range []any{"nonsense", "-1", -1, 1.5, true} {
			t.Run(fmt.Sprintf("%s: %v", name, value), func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "config.yaml")
				text, err := yaml.Marshal(map[string]any{name: value})
				expect.NoError(t, err)
				expect.NoError(t, os.WriteFile(file, text, 0o600))
				c := exec.CommandContext(t.Context(), binary, "serve", "--config", file, "--addr", "256.0.0.1:0")
				out, err := c.CombinedOutput()
				if err == nil || !strings.Contains(string(out), "config.yaml:1: "+name+": invalid value") {
					t.Errorf("the program: got %v, %s; want a refusal of the value", err, out)
				}
				if schema.Validate(map[string]any{name: value}) == nil {
					t.Errorf("the schema accepts the value, the program reports %s", out)
				}
			})
		}
		t.Run(name+" has a value that both accept", func(t *testing.T) {
			t.Parallel()
			for _, value := range []any{"real", "info", "4MiB", 65536} {
				if schema.Validate(map[string]any{name: value}) == nil {
					return
				}
			}
			t.Error("the schema refuses all of them")
		})
	}
}

// TestSchemasRefuseWhatTheServerRefuses sends each mutation of the examples. Mutations that
// only the server can refuse are listed.
func TestSchemasRefuseWhatTheServerRefuses(t *testing.T) {
	t.Parallel()
	// Strings or numbers of the right type: only the server checks the formats of URLs,
	// durations, cron expressions, headers and methods.
	onlyTheServer := regexp.MustCompile(` is a text$| is a number$|headers|\.url is |method|lacks `)
	for name, c := range map[string]struct{ method, path string }{
		"fixture": {http.MethodPost, "/_understudy/fixtures"},
		"stubs":   {http.MethodPut, "/_understudy/stubs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, schema, refused := mockserver.RunT(t), compiled(t, name), 0
			good := parsed(t, readFile(t, "../../examples/files/"+name+".yaml"))
			for _, mutation := range drift.Mutations(good) {
				body, err := json.Marshal(mutation.Value)
				expect.NoError(t, err)
				status, said := send(t, c.method, u.URL()+c.path, body)
				if status == http.StatusOK {
					if status, said := send(t, http.MethodPost, u.URL()+"/_understudy/reset", nil); status != http.StatusOK {
						t.Fatalf("reset: %d %s", status, said)
					}
					continue
				}
				refused++
				if schema.Validate(mutation.Value) == nil && !onlyTheServer.MatchString(mutation.Name) {
					t.Errorf("%s: the schema accepts what the server refuses: %s", mutation.Name, said)
				}
			}
			if refused < 30 {
				t.Errorf("the server refused %d mutations, want at least 30", refused)
			}
		})
	}
}

// send sends a request with a JSON body and returns status and body of the answer.
func send(t *testing.T, method, url string, body []byte) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	expect.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(r)
	expect.NoError(t, err)
	defer func() { _ = response.Body.Close() }() // read to the end
	said, err := io.ReadAll(response.Body)
	expect.NoError(t, err)
	return response.StatusCode, string(said)
}
