package packaging

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestPackagingShell runs the shell recipes of docs/ci.md, on free ports.
func TestPackagingShell(t *testing.T) {
	t.Parallel()
	recipes := fenced(t, "../docs/ci.md", "sh")
	if len(recipes) != 3 { // the third one needs an application of the reader
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

// TestPackagingSharedServer runs the recipes of docs/shared-server.md, on a free port.
func TestPackagingSharedServer(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	recipes := fenced(t, "../docs/shared-server.md", "sh")
	expect.Equal(expect.Now(t), "number of recipes", len(recipes), 2)
	t.Run("a server with everything", func(t *testing.T) {
		t.Parallel()
		script := replaced(t, recipes[0], "--addr :8443", "--addr 127.0.0.1:0 --ready-file ready.json")
		script = strings.TrimSpace(replaced(t, script, "/var/lib/understudy", "state")) + " &\n"
		s := step{dir: t.TempDir(), script: "set -m\nexport TEAM_TOKEN=one CONTROL_TOKEN=two\nunderstudy run --tls-self-signed --advertise https://queue.example.com --control-token two --tls-dir . -- true\n" +
			"cp server.pem tls.crt\ncp server.pem tls.key\n" + script + "while test ! -e ready.json; do sleep 0.1; done\n" +
			`understudy ctl --ca-file ca.pem --url "$(sed 's/.*"listensAt":"\([^"]*\)".*/\1/' ready.json)" health` + "\nkill %1\nwait\n"}
		out, err := s.bash(t)
		if err != nil || !strings.Contains(out, `"status": "ok"`) || !strings.Contains(out, "is running at https://queue.example.com:8443") || strings.Contains(out, "WARNING") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("a command with a self-signed certificate", func(t *testing.T) {
		t.Parallel()
		s := step{dir: t.TempDir(), script: recipes[1]}
		if out, err := s.bash(t); err != nil || !strings.Contains(out, `"status":"ok"`) {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// replaced is a recipe with one part replaced. It must contain that part.
func replaced(t *testing.T, recipe, from, to string) string {
	t.Helper()
	if !strings.Contains(recipe, from) {
		t.Fatalf("%q is not in\n%s", from, recipe)
	}
	return strings.Replace(recipe, from, to, 1)
}

// otherVariables are the variables in recipes that are not flags of serve: of Compose, of
// examples, of the install script, of `ctl`, and variables for clients.
var otherVariables = []string{"UNDERSTUDY_CA_FILE", "UNDERSTUDY_IMAGE", "UNDERSTUDY_RELEASES", "UNDERSTUDY_URL", "UNDERSTUDY_VERSION"}

// TestPackagingVariables checks that every variable in a recipe is a flag of serve.
func TestPackagingVariables(t *testing.T) {
	t.Parallel()
	help := step{dir: t.TempDir(), script: "understudy serve --help"}
	flags, err := help.bash(t)
	expect.NoError(t, err)
	known := append(regexp.MustCompile(`UNDERSTUDY_[A-Z_]+`).FindAllString(flags, -1), otherVariables...)
	for _, path := range []string{
		"../docs/containers.md", "../examples/compose/compose.yaml", "../examples/testcontainers-go/understudy.go", "../examples/testcontainers-go/orders_test.go",
		"../examples/testcontainers-node/understudy.mjs", "../examples/testcontainers-node/orders.test.mjs", "helm/understudy/templates/_helpers.tpl", "../docs/shared-server.md", "oci/image.go",
	} {
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		for _, name := range regexp.MustCompile(`UNDERSTUDY_[A-Z_]+`).FindAllString(string(text), -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s is not a flag of understudy serve", path, name)
			}
		}
	}
}
