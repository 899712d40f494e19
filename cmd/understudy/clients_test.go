package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// clientLimit is the real time that the tests of one package may take.
const clientLimit = 3 * time.Minute

// needs names what a stand-in must offer for the tests of a folder.
var needs = map[string]string{"ratelimit": "UNDERSTUDY_KV_URL"}

// flags are what the tests of a folder ask of the server.
var flags = map[string][]string{"vector": {
	"--clock", "manual", "--vector-lag", "2s",
	"--embed", "hash", "--vector-index", "docs=DENSE:3:COSINE", "--vector-index", "text=DENSE:64:COSINE", "--vector-index", "words=SPARSE", "--vector-index", "both=HYBRID:2:DOT_PRODUCT",
}}

// TestClients runs the tests of the published client packages, each folder of
// conformance/clients with a package.json against a server process of its own.
// They are written in the clients' language and know nothing but the
// environment that `understudy serve` prints.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			skipLoud(t, tool+" is not installed: the published client packages are NOT tested")
		}
	}
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
			if name := needs[filepath.Base(dir)]; name != "" && !slices.ContainsFunc(server.env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
				t.Skipf("the stand-in has no %s", name)
			}
			runClient(t, dir, server.env, "npm", "test", "--silent")
		})
	}
}

// TestClientsPython runs the tests of the published Python packages in the same
// way: the messaging client, and the workflow client in a Flask application.
func TestClientsPython(t *testing.T) {
	t.Parallel()
	const dir = "../../conformance/clients/python"
	if _, err := exec.LookPath("python3"); err != nil {
		skipLoud(t, "python3 is not installed: the published Python packages are NOT tested")
	}
	modules := installPython(t, dir)
	server := serve(t, build(t), "--clock", "manual")
	env := append(server.env, "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1")
	runClient(t, dir, env, "python3", "-m", "unittest", "discover", "--verbose", "--buffer")
}

// runClient runs the tests of a folder in their own language.
func runClient(t *testing.T, dir string, env []string, command string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientLimit)
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

// TestGoClient runs the published Go client, a module of its own, against a
// server process that was started without flags.
func TestGoClient(t *testing.T) {
	t.Parallel()
	const dir = "../../conformance/clients/qstash-go"
	fetch := exec.CommandContext(t.Context(), "go", "mod", "download")
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		skipLoud(t, fmt.Sprintf("go mod download in %s: %v: %s", dir, err, out))
	}
	server := serve(t, build(t))
	ctx, cancel := context.WithTimeout(t.Context(), clientLimit)
	defer cancel()
	test := exec.CommandContext(ctx, "go", "test", "-count=1", ".")
	test.Dir = dir
	test.Env = append(os.Environ(), server.env...)
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// skipLoud skips what a missing tool makes impossible; in continuous
// integration that is a failure.
func skipLoud(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	fmt.Fprintln(os.Stderr, "SKIPPED: "+why)
	t.Skip(why)
}

// build makes the binary under test.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "understudy")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// installing lets one test fetch packages at a time.
var installing sync.Mutex

// install fetches a client's packages unless they are there.
func install(t *testing.T, dir string) {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	wanted, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join(dir, "node_modules", ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == string(wanted) {
		return
	}
	npm := exec.CommandContext(t.Context(), "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		skipLoud(t, fmt.Sprintf("npm install in %s: %v: %s", dir, err, out))
	}
	if err := os.WriteFile(stamp, wanted, 0o600); err != nil {
		t.Fatal(err)
	}
}

// installPython fetches a client's packages unless they are there, and returns
// the folder that holds them: one of its own, so that nothing of the machine
// changes.
func installPython(t *testing.T, dir string) string {
	t.Helper()
	wanted, err := os.ReadFile(filepath.Join(dir, "requirements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs(filepath.Join("../../.tmp", filepath.Base(dir)))
	if err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join(modules, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == string(wanted) {
		return modules
	}
	if err := os.RemoveAll(modules); err != nil {
		t.Fatal(err)
	}
	pip := exec.CommandContext(t.Context(), "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", modules, "--requirement", "requirements.txt")
	pip.Dir = dir
	if out, err := pip.CombinedOutput(); err != nil {
		skipLoud(t, fmt.Sprintf("pip install in %s: %v: %s: the published Python packages are NOT tested", dir, err, out))
	}
	if err := os.WriteFile(stamp, wanted, 0o600); err != nil {
		t.Fatal(err)
	}
	return modules
}

// served is a running server process.
type served struct {
	url string
	env []string // NAME=VALUE
	pid int
}

// serve starts a server on a free port, and returns when it is ready. It is
// told to stop at the end of the test, and has to do so without an error.
func serve(t *testing.T, binary string, flags ...string) *served {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	cmd := exec.Command(binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--ready-file", ready}, flags...)...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself, which Wait tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v\n%s", err, log.String())
		}
		if t.Failed() {
			t.Logf("log of the server:\n%s", log.String())
		}
	})
	// The banner, which fits the pipe, is the sign that the ready file is there.
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("serve said %q: %v", line, err)
	}
	text, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		URL string
		Env map[string]string
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	s := &served{url: state.URL, pid: cmd.Process.Pid}
	for name, value := range state.Env {
		s.env = append(s.env, name+"="+value)
	}
	return s
}
