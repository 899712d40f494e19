package pypi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

const (
	root = "../.."
)

// limit is the time limit for each command, in real time.
const limit = 5 * time.Minute

// TestPackagingPyPI installs the wheel of this platform as users do, and uses it.
func TestPackagingPyPI(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import pip, venv, ensurepip").CombinedOutput(); err != nil {
		programs.SkipLoud(t, fmt.Sprintf("python3 with pip and venv is not installed: the PyPI package is NOT tested: %s", out))
	}
	p := build(t)

	t.Run("the same binaries give the same wheel", func(t *testing.T) {
		t.Parallel()
		if again := p.wheel(t); sum(t, p.file) != sum(t, again) {
			t.Errorf("%s: two builds gave different files", filepath.Base(again))
		}
	})
	t.Run("each platform has a wheel that PyPI accepts", func(t *testing.T) {
		t.Parallel()
		files := p.wheels(t)
		platforms, err := filepath.Glob(p.binaries + "/*-*/understudy*")
		if err != nil || len(platforms) != 2*len(files) {
			t.Errorf("wheels: got %q, want one for each platform of %q: %v", files, platforms, err)
		}
		p.run(t, ".", "check-wheel-contents", files...)
		p.run(t, ".", "twine", append([]string{"check", "--strict"}, files...)...)
	})
	t.Run("the types are strict, and Python 3.9 is enough", func(t *testing.T) {
		t.Parallel()
		p.run(t, ".", "mypy", "--cache-dir", filepath.Join(p.tools, "mypy"), "src", "test", "wheels.py", "hatch_build.py")
		p.run(t, root+"/examples/python", "mypy", "--strict", "--cache-dir", filepath.Join(p.tools, "mypy-examples"), ".")
		p.run(t, ".", "vermin", "--target=3.9-", "--no-tips", "--eval-annotations", "--violations", "src")
	})
	t.Run("helper, fixtures and scripts work", func(t *testing.T) {
		t.Parallel()
		p.run(t, "test", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider", "--rootdir=.")
	})
	t.Run("the examples pass", func(t *testing.T) {
		t.Parallel()
		p.run(t, root+"/examples/python", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.")
		p.run(t, root+"/examples/python", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider", "--rootdir=.", "test_orders.py")
	})
	t.Run("explore finds the bugs of its example", func(t *testing.T) {
		t.Parallel()
		bin := filepath.Join(p.tools, "bin")
		programs.FindBugs(t, filepath.Join(bin, "understudy"), root+"/examples/explore/fastapi", programs.ShopBugs, filepath.Join(bin, "python"), "shop.py")
	})
	for _, page := range []string{"docs/testing-python.md", "packaging/pypi/README.md"} {
		t.Run("from an empty folder to a passing test, with the commands of "+page, func(t *testing.T) {
			t.Parallel()
			p.follow(t, page)
		})
	}
}

// pythonPackage is a wheel, and the tools that test it.
type pythonPackage struct {
	dir      string // of the wheel
	file     string // the wheel
	binaries string // the folder that it was built from
	tools    string // a virtual environment with the published clients and the wheel
	fetched  string // wheels of the tools, for environments without an index
}

// build builds the wheel, and installs it together with the tools of the tests.
func build(t *testing.T) *pythonPackage {
	t.Helper()
	p := &pythonPackage{binaries: os.Getenv("DIST")} // the programs of a release, "" to build them
	p.tools, p.fetched = installTools(t)
	if p.binaries == "" {
		p.binaries = t.TempDir()
		commands := exec.CommandContext(t.Context(), "go", "run", "./packaging/build", "--out", p.binaries, "--platform", runtime.GOOS+"/"+runtime.GOARCH, "--version", "v0.1.0")
		commands.Dir = root
		if out, err := commands.CombinedOutput(); err != nil {
			t.Fatalf("packaging/build: %v\n%s", err, out)
		}
	}
	p.file = p.wheel(t)
	p.dir = filepath.Dir(p.file)
	p.run(t, p.dir, "python", "-m", "pip", "install", "--quiet", "--no-index", "--find-links", p.dir, "--force-reinstall", "understudy-mock")
	return p
}

// wheel builds the wheel of this platform into a temporary folder.
func (p *pythonPackage) wheel(t *testing.T) string {
	t.Helper()
	files := p.wheels(t, "--platform", runtime.GOOS+"-"+runtime.GOARCH)
	if len(files) != 1 {
		t.Fatalf("wheels: got %q, want one", files)
	}
	return files[0]
}

// wheels builds wheels into a temporary folder.
func (p *pythonPackage) wheels(t *testing.T, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	p.run(t, ".", "python", append([]string{"wheels.py", "--binaries", p.binaries, "--out", dir, "--version", "v0.1.0"}, args...)...)
	files, err := filepath.Glob(dir + "/*.whl")
	expect.NoError(t, err)
	return files
}

// run runs a command of the tools in a folder. It finds the wheel, and no other package of this name.
func (p *pythonPackage) run(t *testing.T, dir, command string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
	defer cancel()
	bin := filepath.Join(p.tools, "bin")
	c := exec.CommandContext(ctx, filepath.Join(bin, command), args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1", "UNDERSTUDY_WHEELS="+p.dir, "PIP_DISABLE_PIP_VERSION_CHECK=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", command, strings.Join(args, " "), err, out)
	}
}

var (
	pythonTest = regexp.MustCompile("(?ms)^```python\n(?:# (test_\\w+\\.py)\n)?([^`]*?^def test_.*?)^```$")
	commands   = regexp.MustCompile("(?m)^(?:pip install .*understudy-mock.*|pytest.*)$")
)

// follow does what a page describes, in an empty folder and a new virtual environment: it
// saves the tests in Python and runs the two commands unchanged. A test without a file name
// is saved next to the first one.
func (p *pythonPackage) follow(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	expect.NoError(t, err)
	tests := pythonTest.FindAllSubmatch(text, -1)
	typed := commands.FindAllString(string(text), 2)
	if tests == nil || len(typed) != 2 {
		t.Fatalf("%s: no test in Python with two commands: got the commands %q", page, typed)
	}
	folder, fresh := t.TempDir(), filepath.Join(t.TempDir(), "venv")
	for i, test := range tests {
		name := string(test[1])
		if name == "" {
			name = fmt.Sprintf("test_%d.py", i)
		}
		expect.NoError(t, os.WriteFile(filepath.Join(folder, name), test[2], 0o600))
	}
	p.run(t, folder, "python", "-m", "venv", fresh)
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-euxc", strings.Join(typed, "\n"))
	shell.Dir = folder
	shell.Env = append(os.Environ(), "PATH="+filepath.Join(fresh, "bin")+":"+os.Getenv("PATH"), "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+p.dir+" "+p.fetched)
	if out, err := shell.CombinedOutput(); err != nil || !bytes.Contains(out, fmt.Appendf(nil, "%d passed", len(tests))) {
		t.Errorf("%v: the test has not passed:\n%s", err, out)
	}
}

// installTools installs what the tests need unless it is installed.
func installTools(t *testing.T) (tools, fetched string) {
	t.Helper()
	wanted, err := os.ReadFile("test/requirements.txt")
	expect.NoError(t, err)
	tools, err = filepath.Abs(root + "/.tmp/pypi")
	expect.NoError(t, err)
	fetched = filepath.Join(tools, "fetched")
	stamp := filepath.Join(tools, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, wanted) {
		return tools, fetched
	}
	python := filepath.Join(tools, "bin", "python")
	for _, command := range [][]string{
		{"python3", "-m", "venv", "--clear", tools},
		{python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", fetched, "--requirement", "test/requirements.txt"},
		{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--find-links", fetched, "--requirement", "test/requirements.txt"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		cancel()
		if err != nil {
			programs.SkipLoud(t, fmt.Sprintf("%s: %v: %s: the PyPI package is NOT tested", strings.Join(command, " "), err, out))
		}
	}
	expect.NoError(t, os.WriteFile(stamp, wanted, 0o600))
	return tools, fetched
}

func sum(t *testing.T, file string) [sha256.Size]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	expect.NoError(t, err)
	return sha256.Sum256(data)
}
