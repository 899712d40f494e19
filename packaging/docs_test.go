package packaging

import (
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
