package packaging

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// schemas are the files with the schemas to check them against: built-in schemas of
// check-jsonschema by name, the schemas of this repository by path. Sorted by file.
var schemas = []struct{ file, schema string }{
	{"../.github/ISSUE_TEMPLATE/bug.yml", "vendor.github-issue-forms"},
	{"../.github/ISSUE_TEMPLATE/config.yml", "vendor.github-issue-config"},
	{"../.github/ISSUE_TEMPLATE/feature.yml", "vendor.github-issue-forms"},
	{"../.github/dependabot.yml", "vendor.dependabot"},
	{"../.github/workflows/ci.yml", "vendor.github-workflows"},
	{"../.github/workflows/release.yml", "vendor.github-workflows"},
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

// pinned matches a reference to an action by the digest of its commit.
var pinned = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}$`)

// The workflows of this repository have no mistakes that checkers know, and no finding of
// zizmor that is not explained where it is.
func TestPackagingOwnWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	t.Run("actionlint", func(t *testing.T) {
		t.Parallel()
		if out, err := exec.CommandContext(t.Context(), actionlint(t), append([]string{"-shellcheck=", "-pyflakes="}, files...)...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("zizmor", func(t *testing.T) {
		t.Parallel()
		if out, err := zizmor(t, "../.github", "action"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("zizmor finds a mistake", func(t *testing.T) {
		t.Parallel()
		text := "name: a\non: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n    - run: echo ${{ github.event.pull_request.title }}\n"
		if out, err := zizmor(t, write(t, "workflow.yml", text)); err == nil {
			t.Errorf("nothing was found\n%s", out)
		}
	})
	t.Run("actions are pinned by digest, and jobs may do only what they say", func(t *testing.T) {
		t.Parallel()
		for _, file := range files {
			var workflow struct {
				Permissions map[string]string
				Jobs        map[string]struct {
					Uses        string
					Permissions map[string]string
					Steps       []struct{ Uses string }
				}
			}
			read(t, file, &workflow)
			expect.Equal(t, "the permissions of "+file, len(workflow.Permissions), 0)
			for name, job := range workflow.Jobs {
				expect.True(t, name+" with permissions of its own", len(job.Permissions) > 0)
				for _, s := range job.Steps {
					expect.True(t, "a digest in "+name+": "+s.Uses, s.Uses == "" || pinned.MatchString(s.Uses))
				}
			}
		}
	})
}

// zizmor runs it without the network, on all that it can find.
func zizmor(t *testing.T, paths ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(modules(t), "bin/zizmor"), append([]string{"--offline", "--no-progress", "--persona=pedantic"}, paths...)...).CombinedOutput()
	return string(out), err
}

const actionlintVersion = "v1.7.12"

// TestPackagingWorkflows checks the recipes of docs/ci.md against their schemas. It also
// checks the recipes for GitHub with actionlint, which compares their inputs with those of
// the action.
func TestPackagingWorkflows(t *testing.T) {
	t.Parallel()
	lint := actionlint(t)
	repository := t.TempDir()
	expect.NoError(t, os.CopyFS(filepath.Join(repository, "packaging/action"), os.DirFS("action")))
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
	expect.NoError(t, err)
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
