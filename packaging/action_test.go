package packaging

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// action is the definition of a composite action.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, If, Run string
			Env           map[string]string
		}
	}
}

// runner is the state that a CI runner keeps between the steps of a job.
type runner struct {
	temp, workspace string
	env             map[string]string // of the job
	outputs         map[string]string // of the last action
	path            string            // added to the PATH
	log, summary    string
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	return &runner{temp: t.TempDir(), workspace: t.TempDir(), env: map[string]string{}}
}

var (
	inputExpression = regexp.MustCompile(`\$\{\{ inputs\.(\w+) \}\}`)
	inputCondition  = regexp.MustCompile(`inputs\.(\w+) (==|!=) '(\w*)'`)
)

// use runs the steps of the action with inputs, as a CI runner does, up to the first step
// that fails.
func (r *runner) use(t *testing.T, inputs map[string]string) error {
	t.Helper()
	var a action
	read(t, "action/action.yml", &a)
	values := map[string]string{}
	for name, input := range a.Inputs {
		values[name] = input.Default
	}
	for name := range inputs {
		if _, ok := values[name]; !ok {
			t.Fatalf("the action has no input %q", name)
		}
	}
	maps.Copy(values, inputs)
	path, err := filepath.Abs("action")
	expect.NoError(t, err)
	for _, s := range a.Runs.Steps {
		if !holds(t, s.If, values) {
			continue
		}
		env, output, more, summary := write(t, "env", ""), write(t, "output", ""), write(t, "path", ""), write(t, "summary", "")
		run := step{dir: r.workspace, script: s.Run, env: []string{
			"GITHUB_ACTION_PATH=" + path, "GITHUB_ENV=" + env, "GITHUB_OUTPUT=" + output, "GITHUB_PATH=" + more, "GITHUB_STEP_SUMMARY=" + summary,
			"GITHUB_WORKSPACE=" + r.workspace, "RUNNER_TEMP=" + r.temp,
		}}
		for name, value := range r.env {
			run.env = append(run.env, name+"="+value)
		}
		for name, value := range s.Env {
			run.env = append(run.env, name+"="+inputExpression.ReplaceAllStringFunc(value, func(e string) string {
				return values[inputExpression.FindStringSubmatch(e)[1]]
			}))
		}
		out, err := run.bash(t)
		r.log += out
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", s.Name, err, out)
		}
		maps.Copy(r.env, variables(t, env))
		for folder := range variables(t, more) {
			r.path = folder
		}
		if text, err := os.ReadFile(summary); err == nil {
			r.summary += string(text)
		}
		if found := variables(t, output); len(found) > 0 {
			r.outputs = found
		}
	}
	return nil
}

// holds evaluates the condition of a step: comparisons of inputs, joined by &&.
func holds(t *testing.T, condition string, inputs map[string]string) bool {
	t.Helper()
	if condition == "" {
		return true
	}
	for part := range strings.SplitSeq(condition, " && ") {
		m := inputCondition.FindStringSubmatch(part)
		if m == nil || m[0] != part {
			t.Fatalf("the test cannot evaluate %q", part)
		}
		if (inputs[m[1]] == m[3]) != (m[2] == "==") {
			return false
		}
	}
	return true
}

func TestPackagingAction(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	r := newRunner(t)
	expect.NoError(t, r.use(t, map[string]string{"version": "none", "port": "0", "flags": "--clock=manual\n--account=odd:to ken$\"'\n"}))
	url := r.outputs["url"]

	t.Run("the environment has the variables of clients, without quotes", func(t *testing.T) {
		if r.env["UNDERSTUDY_URL"] != url || r.env["UNDERSTUDY_TOKEN"] != `to ken$"'` {
			t.Errorf("environment %q", r.env)
		}
	})
	t.Run("the server receives the flags", func(t *testing.T) {
		var health struct{ Clock struct{ Mode string } }
		if call(t, "GET", url+"/_understudy/health", "", "", &health); health.Clock.Mode != "manual" {
			t.Errorf("health %+v", health)
		}
	})
	t.Run("stop stops the server and prints its log", func(t *testing.T) {
		expect.NoError(t, r.use(t, map[string]string{"command": "stop"}))
		expect.Contains(t, "log", r.log, "is running at "+url)
		check := step{dir: r.workspace, script: "understudy healthcheck --url " + url}
		if out, err := check.bash(t); err == nil || !strings.Contains(err.Error(), "3") {
			t.Errorf("healthcheck of a stopped server: %v\n%s", err, out)
		}
	})
	t.Run("stop without start is not an error", func(t *testing.T) {
		if err := r.use(t, map[string]string{"command": "stop"}); err != nil {
			t.Error(err)
		}
	})
}

func TestPackagingActionFails(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	for _, c := range []struct {
		name   string
		inputs map[string]string
		want   string
	}{
		{"for a server that does not start", map[string]string{"version": "none", "port": "0", "flags": "--clock=sideways"}, `--clock: invalid value "sideways"`},
		{"for an unknown command", map[string]string{"version": "none", "command": "begin"}, `invalid command "begin": must be start, stop or conform`},
		{"for a target that does not exist", map[string]string{"version": "none", "command": "conform", "target": "none.yaml"}, "none.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			if err := r.use(t, c.inputs); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestPackagingActionConforms runs a few scenarios against a stand-in that the suite starts.
func TestPackagingActionConforms(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	r := newRunner(t)
	expect.NoError(t, r.use(t, map[string]string{"version": "none", "command": "conform", "flags": "--area=auth\n--accept-partial"}))
	expect.Contains(t, "the summary of the job", r.summary, "# Conformance of understudy")
	for _, name := range []string{"conform.xml", "conform.html"} {
		if info, err := os.Stat(filepath.Join(r.workspace, name)); err != nil || info.Size() == 0 {
			t.Errorf("report %s: %v", name, err)
		}
	}
}
