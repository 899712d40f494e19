package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/programs"
)

// schemas are the files with the schemas to check them against: built-in schemas of
// check-jsonschema by name, the schemas of this repository by path. Sorted by file.
var schemas = []struct{ file, schema string }{
	{"../examples/compose/compose.yaml", "vendor.compose-spec"},
	{"action/action.yml", "vendor.github-actions"},
	{"gitlab/understudy.yml", "vendor.gitlab-ci"},
	{"helm/understudy/values.yaml", "helm/understudy/values.schema.json"},
}

// validate checks a file against a schema.
func validate(t *testing.T, schema, file string) (string, error) {
	t.Helper()
	switch {
	case schema == "vendor.gitlab-ci":
		return python(t, "check_jsonschema", "--data-transform", "gitlab-ci", "--builtin-schema", schema, file) // the transform supports !reference
	case strings.HasPrefix(schema, "vendor."):
		return python(t, "check_jsonschema", "--builtin-schema", schema, file)
	}
	return python(t, "check_jsonschema", "--schemafile", schema, file)
}

func TestPackagingSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range schemas {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			t.Parallel()
			if out, err := validate(t, c.schema, c.file); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	t.Run("a mistake is found", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct{ schema, name, text string }{
			{"vendor.compose-spec", "compose.yaml", "services: {a: {image: a, porst: []}}"},
			{"vendor.github-actions", "action.yml", "name: a\ndescription: a\nruns: {using: composed, steps: []}"},
			{"vendor.gitlab-ci", "gitlab.yml", "job: {script: {}}"},
			{"helm/understudy/values.schema.json", "values.yaml", "image: {repository: a}\nstorage: {enabled: true, size: lots, flags: []}\nservice: {type: ClusterIP, port: 1}"},
		} {
			if out, err := validate(t, c.schema, write(t, c.name, c.text)); err == nil {
				t.Errorf("%s: nothing was found in %s\n%s", c.schema, c.text, out)
			}
		}
	})
}

const actionlintVersion = "v1.7.7"

// TestPackagingWorkflows checks the recipes of docs/ci.md against their schemas. It also
// checks the recipes for GitHub with actionlint, which compares their inputs with those of
// the action.
func TestPackagingWorkflows(t *testing.T) {
	t.Parallel()
	lint := actionlint(t)
	repository := t.TempDir()
	if err := os.CopyFS(filepath.Join(repository, "packaging/action"), os.DirFS("action")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(repository, ".git"), 0o755); err != nil { // actionlint searches for it
		t.Fatal(err)
	}
	workflows, jobs := 0, 0
	for _, text := range fenced(t, "../docs/ci.md", "yaml") {
		if !strings.Contains(text, "runs-on:") {
			jobs++
			if out, err := validate(t, "vendor.gitlab-ci", write(t, "gitlab.yml", text)); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, text)
			}
			continue
		}
		workflows++
		if out, err := validate(t, "vendor.github-workflows", write(t, "workflow.yml", text)); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, text)
		}
		check := exec.CommandContext(t.Context(), lint, "-shellcheck=", "-pyflakes=", "-")
		check.Dir = repository
		check.Stdin = strings.NewReader(strings.ReplaceAll(text, "understudy-mock/understudy/packaging/action@main", "./packaging/action"))
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, text)
		}
	}
	if workflows < 2 || jobs < 2 {
		t.Errorf("docs/ci.md has %d recipes for GitHub and %d for GitLab", workflows, jobs)
	}
}

// actionlint is the path of the tool, which is installed if necessary.
func actionlint(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../.tmp/actionlint-" + actionlintVersion)
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(folder, "actionlint")
	if _, err := os.Stat(tool); err == nil {
		return tool
	}
	install := exec.CommandContext(t.Context(), "go", "install", "github.com/rhysd/actionlint/cmd/actionlint@"+actionlintVersion)
	install.Env = append(os.Environ(), "GOBIN="+folder, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		programs.SkipLoud(t, "actionlint cannot be installed: "+string(out)+": the workflows are NOT checked")
	}
	return tool
}
