package target

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/yamlfile"
)

// driverRow is a row of the table of drivers in docs/conformance/target.md.
var driverRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|[^|]*\\|([^|]*)\\|")

// TestDriversAreDocumented checks that the table contains each driver with its
// placeholders, and that the examples are valid.
func TestDriversAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/conformance/target.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range driverRow.FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = true
		var names []string
		for _, match := range placeholder.FindAllStringSubmatch(row[2], -1) {
			names = append(names, match[1])
		}
		slices.Sort(names)
		if want := driverPlaceholders[row[1]]; !slices.Equal(names, want) {
			t.Errorf("docs/conformance/target.md: placeholders of the driver %s: got %v, want %v", row[1], names, want)
		}
	}
	for name := range driverPlaceholders {
		if !documented[name] {
			t.Errorf("docs/conformance/target.md: the driver %s is not in the table", name)
		}
	}
	_, example, _ := strings.Cut(string(text), "```yaml\ndrivers:\n")
	example, _, _ = strings.Cut("drivers:\n"+example, "```")
	head := "apiVersion: conformance/v1\ntarget:\n  name: x\n  urls: {base: 'http://x'}\n  auth: {bearer: a, vector_bearer: b, basic: {username: c, password: d}}\n"
	loaded, err := parseTarget("docs/conformance/target.md", []byte(head+example), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Drivers) != len(driverPlaceholders) {
		t.Errorf("docs/conformance/target.md: examples: got %d, want %d", len(loaded.Drivers), len(driverPlaceholders))
	}
}

// TestExpand checks that a placeholder is never replaced by an empty text.
func TestExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{"base": "http://x", "id": ""}
	for _, c := range []struct{ text, want, refused string }{
		{"{{base}}/a/{{ base }}", "http://x/a/http://x", ""},
		{"no placeholder {id}", "no placeholder {id}", ""},
		{"{{base}}/v2/search/{{id}}", "", "placeholder {{id}} has no value"},
		{"{{base}}/v2/search/{{index}}", "", "placeholder {{index}} has no value"},
		{"{{base}}/v2/search/{{}}", "", "placeholder {{}} has no value"},
	} {
		got, err := Expand(c.text, values)
		expect.Equal(t, c.text, got, c.want)
		refused := ""
		if err != nil {
			refused = err.Error()
		}
		expect.Equal(t, "the error of "+c.text, refused, c.refused)
	}
}

// TestPlaceholderLine checks that an error has the line of the text.
func TestPlaceholderLine(t *testing.T) {
	t.Parallel()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte("a: 1\nb:\n  url: '{{nobody}}'\n"), &root); err != nil {
		t.Fatal(err)
	}
	err := (&Target{}).checkPlaceholders(&yamlfile.File{Name: "t.yaml"}, root.Content[0])
	if err == nil || !strings.HasPrefix(err.Error(), "t.yaml:3: drivers.b.url: unknown placeholder {{nobody}}") {
		t.Errorf("got %v", err)
	}
}
