package target

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/testkit/drift"
	"github.com/understudy-mock/understudy/spec"
)

// TestSchemaAndLoaderHaveTheSameKeys compares the schema with the type of a target file.
func TestSchemaAndLoaderHaveTheSameKeys(t *testing.T) {
	t.Parallel()
	for _, problem := range drift.Between(spec.TargetSchema, reflect.TypeFor[Target](), "yaml") {
		t.Error(strings.TrimPrefix(problem, "."))
	}
}

// TestSchemaRefusesWhatTheLoaderRefuses checks mutations of the example.
func TestSchemaRefusesWhatTheLoaderRefuses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../examples/files/target.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var good any
	if err := yaml.Unmarshal(text, &good); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("mem://target", bytes.NewReader(spec.TargetSchema)); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("mem://target")
	onlyTheLoader := regexp.MustCompile(` is a text$| is a number$|lacks |env is a `) // formats, variables, and rules about several keys
	env := func(string) (string, bool) { return "secret", true }
	refused := 0
	for _, mutation := range drift.Mutations(good) {
		text, err := json.Marshal(mutation.Value)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parseTarget("target.yaml", text, env)
		if err == nil {
			continue
		}
		refused++
		if schema.Validate(mutation.Value) == nil && !onlyTheLoader.MatchString(mutation.Name) {
			t.Errorf("%s: the schema accepts what the loader refuses: %v", mutation.Name, err)
		}
	}
	if refused < 30 {
		t.Errorf("the loader refused %d mutations, want at least 30", refused)
	}
}
