package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// clientLimit is the time limit for the tests of one package, in real time.
const clientLimit = 3 * time.Minute

// needs has the variable that the stand-in must provide for the tests of a folder.
var needs = map[string]string{"ratelimit": "UNDERSTUDY_KV_URL"}

// flags are the flags of the server for the tests of a folder.
var flags = map[string][]string{"vector": {
	"--clock", "manual", "--vector-lag", "2s",
	"--embed", "hash", "--vector-index", "docs=DENSE:3:COSINE", "--vector-index", "text=DENSE:64:COSINE", "--vector-index", "words=SPARSE", "--vector-index", "both=HYBRID:2:DOT_PRODUCT",
}}

// TestClients runs the tests of the published client packages: each folder of
// conformance/clients with a package.json, against a separate server process. They are
// written in the language of the client and use only the environment that `understudy serve`
// prints.
func TestClients(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the published client packages are NOT tested", "node", "npm")
	packages, err := filepath.Glob("../../conformance/clients/*/package.json")
	if err != nil || len(packages) == 0 {
		t.Fatalf("no clients found: %v", err)
	}
	binary := build(t)
	for _, p := range packages {
		dir := filepath.Dir(p)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			install(t, dir)
			server := serve(t, binary, flags[filepath.Base(dir)]...)
			if name := needs[filepath.Base(dir)]; name != "" && !slices.ContainsFunc(server.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
				t.Skipf("the stand-in has no %s", name)
			}
			runClient(t, dir, server.Env, "npm", "test", "--silent")
		})
	}
}

// TestClientsPython runs the tests of the published Python packages in the same way: the
// messaging client, and the workflow client in a Flask application.
func TestClientsPython(t *testing.T) {
	t.Parallel()
	const dir = "../../conformance/clients/python"
	programs.Need(t, "the published Python packages are NOT tested", "python3")
	modules := installPython(t, dir)
	server := serve(t, build(t), "--clock", "manual")
	env := slices.Concat(server.Env, []string{"PYTHONPATH=" + modules, "PYTHONDONTWRITEBYTECODE=1"})
	runClient(t, dir, env, "python3", "-m", "unittest", "discover", "--verbose", "--buffer")
}

// runClient runs the tests of a folder with a command.
func runClient(t *testing.T, dir string, env []string, command string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(clientLimit))
	defer cancel()
	test := exec.CommandContext(ctx, command, args...)
	test.Dir = dir
	test.Env = append(os.Environ(), env...)
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("\n%s", out)
	}
}

// TestGoClient runs the tests of the published Go client, which are a separate module,
// against a server process without flags.
func TestGoClient(t *testing.T) {
	t.Parallel()
	const dir = "../../conformance/clients/qstash-go"
	fetch := exec.CommandContext(t.Context(), "go", "mod", "download")
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		skipLoud(t, fmt.Sprintf("go mod download in %s: %v: %s", dir, err, out))
	}
	server := serve(t, build(t))
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(clientLimit))
	defer cancel()
	test := exec.CommandContext(ctx, "go", "test", "-count=1", ".")
	test.Dir = dir
	test.Env = append(os.Environ(), server.Env...)
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Functions for tests of both programs.
var (
	build    = programs.Build
	serve    = programs.Serve
	skipLoud = programs.SkipLoud
)

// installing makes tests fetch packages one at a time.
var installing sync.Mutex

// install fetches a client's packages unless they are installed.
func install(t *testing.T, dir string) {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	wanted, err := os.ReadFile(filepath.Join(dir, "package.json"))
	expect.NoError(t, err)
	stamp := filepath.Join(dir, "node_modules", ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == string(wanted) {
		return
	}
	npm := exec.CommandContext(t.Context(), "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		skipLoud(t, fmt.Sprintf("npm install in %s: %v: %s", dir, err, out))
	}
	expect.NoError(t, os.WriteFile(stamp, wanted, 0o600))
}

// installPython fetches a client's packages unless they are installed, and returns their
// folder. It is separate, so that the machine's packages do not change.
func installPython(t *testing.T, dir string) string {
	t.Helper()
	wanted, err := os.ReadFile(filepath.Join(dir, "requirements.txt"))
	expect.NoError(t, err)
	modules, err := filepath.Abs(filepath.Join("../../.tmp", filepath.Base(dir)))
	expect.NoError(t, err)
	stamp := filepath.Join(modules, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == string(wanted) {
		return modules
	}
	expect.NoError(t, os.RemoveAll(modules))
	pip := exec.CommandContext(t.Context(), "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", modules, "--requirement", "requirements.txt")
	pip.Dir = dir
	if out, err := pip.CombinedOutput(); err != nil {
		skipLoud(t, fmt.Sprintf("pip install in %s: %v: %s: the published Python packages are NOT tested", dir, err, out))
	}
	expect.NoError(t, os.WriteFile(stamp, wanted, 0o600))
	return modules
}
