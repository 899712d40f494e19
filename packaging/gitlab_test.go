package packaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// gitlabJob is a job of a GitLab template.
type gitlabJob struct {
	Variables    map[string]string
	BeforeScript []string `yaml:"before_script"`
	Script       []string
	AfterScript  []string `yaml:"after_script"`
}

// gitlab returns a job of the template, its environment and its project folder.
func gitlab(t *testing.T, name string, variables map[string]string) (job gitlabJob, env []string, project string) {
	t.Helper()
	var file map[string]yaml.Node
	read(t, "gitlab/understudy.yml", &file)
	node := file[name]
	expect.NoError(t, node.Decode(&job))
	var common map[string]string
	node = file["variables"]
	expect.NoError(t, node.Decode(&common))
	project = t.TempDir()
	env = append(env, "CI_PROJECT_DIR="+project)
	for _, set := range []map[string]string{common, job.Variables, variables} { // the last value applies
		for name, value := range set {
			env = append(env, name+"="+value)
		}
	}
	return job, env, project
}

// lines joins the commands of a job, which one shell runs.
func lines(parts ...[]string) string {
	var all []string
	for _, part := range parts {
		all = append(all, part...)
	}
	return strings.Join(all, "\n")
}

// TestPackagingGitLab runs a job in both shells that GitLab uses: bash, and sh if the image
// of the job has no bash.
func TestPackagingGitLab(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	for _, shell := range []string{"bash", "sh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			job, env, project := gitlab(t, ".understudy", map[string]string{
				"UNDERSTUDY_VERSION": "none", "UNDERSTUDY_SERVE": "--addr 127.0.0.1:0 --clock manual",
			})
			script := []string{`understudy ctl --url "$UNDERSTUDY_URL" clock`, `echo "token: $UNDERSTUDY_TOKEN"`}
			main := step{dir: project, env: env, script: lines(job.BeforeScript, script)}
			out, err := main.run(t, shell, "-e")
			after := step{dir: project, env: env, script: lines(job.AfterScript)}
			log, stopped := after.run(t, shell, "-e")
			if err != nil || stopped != nil {
				t.Fatalf("%v, %v\n%s\n%s", err, stopped, out, log)
			}
			if !strings.Contains(out, "manual") || !strings.Contains(out, "token: ey") {
				t.Errorf("the script does not have the environment of the clients:\n%s", out)
			}
			if !strings.Contains(log, "is running at http://127.0.0.1:") {
				t.Errorf("the log is not printed at the end:\n%s", log)
			}
		})
	}
	t.Run("a server that does not start fails the job with its log", func(t *testing.T) {
		t.Parallel()
		job, env, project := gitlab(t, ".understudy", map[string]string{"UNDERSTUDY_VERSION": "none", "UNDERSTUDY_SERVE": "--clock sideways"})
		main := step{dir: project, env: env, script: lines(job.BeforeScript)}
		if out, err := main.run(t, "sh", "-e"); err == nil || !strings.Contains(out, "--clock: invalid value") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestPackagingGitLabConforms(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	job, env, project := gitlab(t, ".understudy-conform", map[string]string{
		"UNDERSTUDY_VERSION": "none", "UNDERSTUDY_CONFORM": "--area auth --accept-partial",
	})
	target := "apiVersion: conformance/v1\ntarget:\n  name: none\n  urls: {base: http://127.0.0.1:1}\n"
	expect.NoError(t, os.WriteFile(filepath.Join(project, "conformance.yaml"), []byte(target), 0o600))
	main := step{dir: project, env: env, script: lines(job.BeforeScript, job.Script)}
	if out, err := main.bash(t); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a target that cannot be reached: %v, want exit status 3\n%s", err, out)
	}
}
