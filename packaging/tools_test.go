// Package packaging checks the files for CI services, Compose, Kubernetes and development
// containers against their schemas, and runs them with the real program.
package packaging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// limit is the time limit of all tests here, on a busy machine.
const limit = 5 * time.Minute

// binaries is the folder of the commands: from a release in DIST, or built here.
func binaries(t *testing.T) string {
	t.Helper()
	folder, err := built()
	expect.NoError(t, err)
	return folder
}

var built = sync.OnceValues(func() (string, error) {
	if dist := os.Getenv("DIST"); dist != "" {
		return filepath.Join(dist, runtime.GOOS+"-"+runtime.GOARCH), nil
	}
	folder, err := filepath.Abs("../.tmp/packaging-bin")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", folder+"/", "../cmd/...").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return folder, nil
})

// modules is the folder of the Python packages in requirements.txt.
func modules(t *testing.T) string {
	t.Helper()
	programs.Need(t, "the files are NOT checked against their schemas", "python3")
	folder, err := installed()
	if err != nil {
		programs.SkipLoud(t, err.Error()+": the files are NOT checked against their schemas")
	}
	return folder
}

var installed = sync.OnceValues(func() (string, error) {
	wanted, err := os.ReadFile("requirements.txt")
	if err != nil {
		return "", err
	}
	folder, err := filepath.Abs("../.tmp/packaging")
	if err != nil {
		return "", err
	}
	stamp := filepath.Join(folder, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, wanted) {
		return folder, nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	pip := exec.Command("python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder, "--requirement", "requirements.txt")
	if out, err := pip.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip install: %w: %s", err, out)
	}
	return folder, os.WriteFile(stamp, wanted, 0o600)
})

// python runs a module and returns its output.
func python(t *testing.T, module string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
	defer cancel()
	run := exec.CommandContext(ctx, "python3", append([]string{"-m", module}, args...)...)
	run.Env = append(os.Environ(), "PYTHONPATH="+modules(t), "PYTHONDONTWRITEBYTECODE=1")
	out, err := run.CombinedOutput()
	return string(out), err
}

// step is a step of a job or an action that runs in a shell.
type step struct {
	dir, script string
	env         []string // in addition to PATH
}

// bash runs the step in the shell of most CI services, with the programs on the PATH.
func (s *step) bash(t *testing.T) (string, error) {
	t.Helper()
	return s.run(t, "bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
}

// run runs the step in a shell.
func (s *step) run(t *testing.T, shell string, options ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
	defer cancel()
	run := exec.CommandContext(ctx, shell, append(options, "-c", s.script)...)
	run.Dir, run.Env = s.dir, append([]string{"PATH=" + binaries(t) + ":" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, s.env...)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	run.WaitDelay = time.Second // a server that outlives the step writes to files, not to this pipe
	err := run.Run()
	return out.String(), err
}

// read decodes a YAML file.
func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// write writes a file into a temporary folder and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// variables reads the NAME=VALUE lines of a file.
func variables(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		found[name] = value
	}
	return found
}

// call sends a request and decodes the answer.
func call(t *testing.T, method, url, token, body string, into any) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	expect.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	expect.NoError(t, err)
	defer answer.Body.Close()
	if into != nil {
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
			t.Fatalf("%s %s: %d: %v", method, url, answer.StatusCode, err)
		}
	}
	return answer.StatusCode
}

// fenced returns the code blocks of a page in a language.
func fenced(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	expect.NoError(t, err)
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return blocks
}
