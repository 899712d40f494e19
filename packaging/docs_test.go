package packaging

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPackagingShell runs the shell recipes of docs/ci.md, on free ports.
func TestPackagingShell(t *testing.T) {
	t.Parallel()
	recipes := fenced(t, "../docs/ci.md", "sh")
	if len(recipes) != 2 {
		t.Fatalf("%d recipes", len(recipes))
	}
	t.Run("a command with the environment", func(t *testing.T) {
		t.Parallel()
		s := step{dir: t.TempDir(), script: replaced(t, recipes[0], "npm test", "env")}
		if out, err := s.bash(t); err != nil || !strings.Contains(out, "UNDERSTUDY_URL=http://127.0.0.1:") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("in steps", func(t *testing.T) {
		t.Parallel()
		script := replaced(t, recipes[1], "127.0.0.1:8080", "127.0.0.1:0")
		script = replaced(t, script, "understudy env", `understudy env --url "$(sed 's/.*"url":"\([^"]*\)".*/\1/' ready.json)"`)
		s := step{dir: t.TempDir(), script: "set -m\n" + script + "wait\n"}
		if out, err := s.bash(t); !strings.Contains(out, `"status":"ok"`) {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// replaced is a recipe with one part replaced, which must be there.
func replaced(t *testing.T, recipe, from, to string) string {
	t.Helper()
	if !strings.Contains(recipe, from) {
		t.Fatalf("%q is not in\n%s", from, recipe)
	}
	return strings.Replace(recipe, from, to, 1)
}

// otherVariables are those in recipes that are no flags of serve: of Compose and
// of examples, of the install script, and those that clients read.
var otherVariables = []string{"UNDERSTUDY_IMAGE", "UNDERSTUDY_RELEASES", "UNDERSTUDY_VERSION"}

// TestPackagingVariables holds every variable that a recipe sets to the flags of serve.
func TestPackagingVariables(t *testing.T) {
	t.Parallel()
	help := step{dir: t.TempDir(), script: "understudy serve --help"}
	flags, err := help.bash(t)
	if err != nil {
		t.Fatal(err)
	}
	known := append(regexp.MustCompile(`UNDERSTUDY_[A-Z_]+`).FindAllString(flags, -1), otherVariables...)
	for _, path := range []string{
		"../docs/containers.md", "../examples/compose/compose.yaml", "../examples/testcontainers-go/understudy.go", "../examples/testcontainers-go/orders_test.go",
		"../examples/testcontainers-node/understudy.mjs", "../examples/testcontainers-node/orders.test.mjs", "helm/understudy/templates/statefulset.yaml", "oci/image.go",
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`UNDERSTUDY_[A-Z_]+`).FindAllString(string(text), -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s is no flag of understudy serve", path, name)
			}
		}
	}
}
