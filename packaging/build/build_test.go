package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	processes "github.com/understudy-mock/understudy/internal/testkit/programs"
)

// limit is the time limit for one command on a busy machine.
const limit = 10 * time.Minute

// here is the platform of the tests.
var here = platform{runtime.GOOS, runtime.GOARCH}

// release is a folder with a release: the one in DIST, or a new one for this platform only.
func release(t *testing.T) string {
	t.Helper()
	folder, err := released()
	expect.NoError(t, err)
	return folder
}

var released = sync.OnceValues(func() (string, error) {
	if dist := os.Getenv("DIST"); dist != "" {
		return dist, nil
	}
	folder, err := filepath.Abs("../../.tmp/release")
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, run([]string{"--source", "../..", "--out", folder, "--platform", here.os + "/" + here.arch, "--version", "v0.0.1", "--archives"}, io.Discard, os.Stderr)
})

// archive returns the archive for this platform, and the folder in it.
func archive(t *testing.T) (file, folder string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(release(t), "understudy-*-"+here.String()+".tar.gz"))
	if err != nil || len(found) != 1 {
		t.Fatalf("archives %q, %v; want one", found, err)
	}
	return found[0], strings.TrimSuffix(filepath.Base(found[0]), ".tar.gz")
}

// command runs a command in a folder, without the environment of this shell.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// An archive is complete: it works after unpacking into an empty folder.
func TestPackagingArchive(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	file, folder := archive(t)
	empty := t.TempDir()
	command(t, empty, "tar", "-xzf", file)
	root := filepath.Join(empty, folder)
	t.Run("the programs run, and find each other", func(t *testing.T) {
		t.Parallel()
		version := strings.TrimSuffix(strings.TrimPrefix(folder, "understudy-"), "-"+here.String())
		for _, program := range programs {
			if out := command(t, root, "./"+program, "--version"); !strings.Contains(out, version) {
				t.Errorf("%s --version prints %q, want %s", program, out, version)
			}
		}
		expect.Contains(t, "conform --list", command(t, root, "./understudy", "conform", "--list"), ".feature")
	})
	t.Run("man shows the page", func(t *testing.T) {
		t.Parallel()
		for _, tool := range []string{"man", "groff"} {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skip(tool + " is not installed")
			}
		}
		if out := command(t, root, "man", "--warnings", "-l", "man/man1/understudy.1"); !strings.Contains(out, "--until-eof") || strings.Contains(out, "warning") {
			t.Errorf("man prints %.300q", out)
		}
	})
	t.Run("bash completes", func(t *testing.T) {
		t.Parallel()
		const script = `source completions/understudy.bash; COMP_WORDS=(./understudy ctl ad); COMP_CWORD=2; _understudy; echo "${COMPREPLY[@]}"`
		if out := command(t, root, "bash", "-c", script); strings.TrimSpace(out) != "advance" {
			t.Errorf("completed: %q", out)
		}
	})
	t.Run("it contains the licences and the README", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
			if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("it contains nothing of this machine", func(t *testing.T) {
		t.Parallel()
		packed, err := os.ReadFile(file)
		expect.NoError(t, err)
		plain, err := gzip.NewReader(bytes.NewReader(packed))
		expect.NoError(t, err)
		for r := tar.NewReader(plain); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			expect.NoError(t, err)
			expect.Equal(t, "the user number of "+h.Name, h.Uid, 0)
			expect.Equal(t, "the group number of "+h.Name, h.Gid, 0)
			expect.Equal(t, "the user name of "+h.Name, h.Uname, "")
			expect.Equal(t, "the time of "+h.Name, h.ModTime, stamp)
		}
	})
}

// The list has the right checksum of every file of the release.
func TestPackagingChecksums(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	folder := release(t)
	list, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	expect.NoError(t, err)
	listed := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed[name] = sum
	}
	for _, pattern := range []string{"*.tar.gz", "*.zip", "*.cdx.json"} {
		files, err := fs.Glob(os.DirFS(folder), pattern)
		expect.NoError(t, err)
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if got := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || listed[name] != got {
				t.Errorf("%s: %v, sum %s, listed %q", name, err, got, listed[name])
			}
			delete(listed, name)
		}
	}
	if len(listed) > 0 {
		t.Errorf("listed but missing: %v", listed)
	}
}

// A bill of materials has every module that `go version -m` prints, and is valid for the
// schema of CycloneDX.
func TestPackagingBill(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	folder := release(t)
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(folder, program+"-"+here.String()+".cdx.json"))
			expect.NoError(t, err)
			var b bill
			expect.NoError(t, json.Unmarshal(text, &b))
			have := map[string]bool{}
			for _, c := range b.Components {
				have[c.Name+" "+c.Version] = true
			}
			built, err := buildinfo.ReadFile(filepath.Join(folder, here.String(), here.file(program)))
			expect.NoError(t, err)
			for _, dep := range built.Deps {
				if !have[dep.Path+" "+dep.Version] {
					t.Errorf("%s is not in the bill", dep.Path)
				}
			}
		})
	}
	t.Run("schema", func(t *testing.T) {
		t.Parallel()
		python, err := cyclonedx()
		if err != nil {
			processes.SkipLoud(t, err.Error()+": the bills of materials are NOT checked against their schema")
		}
		bills, err := filepath.Glob(filepath.Join(folder, "*.cdx.json"))
		if err != nil || len(bills) < len(programs) {
			t.Fatalf("%d bills, %v", len(bills), err)
		}
		const script = `
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for name in sys.argv[1:]:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(name).read())
    if error: sys.exit(f"{name}: {error}")
broken = open(name).read().replace('"library"', '"librarry"')
if not JsonStrictValidator(SchemaVersion.V1_6).validate_str(broken): sys.exit("a mistake is not found")
`
		ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
		defer cancel()
		c := exec.CommandContext(ctx, "python3", append([]string{"-c", script}, bills...)...)
		c.Env = append(os.Environ(), "PYTHONPATH="+python, "PYTHONDONTWRITEBYTECODE=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// cyclonedx installs the validator.
var cyclonedx = sync.OnceValues(func() (string, error) {
	const wanted = "cyclonedx-python-lib[json-validation]==11.4.0"
	folder, err := filepath.Abs("../../.tmp/cyclonedx")
	if err != nil {
		return "", err
	}
	stamp := filepath.Join(folder, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == wanted {
		return folder, nil
	}
	if out, err := exec.Command("python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target", folder, wanted).CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip install: %w: %s", err, out)
	}
	return folder, os.WriteFile(stamp, []byte(wanted), 0o600)
})

// The same source in another folder gives the same bytes.
func TestPackagingSameBytes(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	files := command(t, "../..", "git", "ls-files", "--", "*.go", "go.mod", "go.sum", "LICENSE", "packaging/build/README.md", "cmd", "conformance", "docs", "engine", "features", "fixtures", "internal", "mockserver", "spec")
	if t.Failed() {
		t.Skip("not a checkout")
	}
	copied, out := t.TempDir(), t.TempDir()
	for name := range strings.Lines(files) {
		name = strings.TrimSuffix(name, "\n")
		text, err := os.ReadFile(filepath.Join("../..", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, but not committed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(copied, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, name), text, 0o600)
		}
		expect.NoError(t, err)
	}
	// The programs have the commit, which the copy has no repository to read from.
	repository := "gitdir: " + command(t, "../..", "git", "rev-parse", "--absolute-git-dir")
	expect.NoError(t, os.WriteFile(filepath.Join(copied, ".git"), []byte(repository), 0o600))
	first := release(t)
	printed := strings.Fields(command(t, first, filepath.Join(first, here.String(), "understudy"), "version")) // understudy VERSION ...
	version := printed[1]
	expect.NoError(t, run([]string{"--source", copied, "--out", out, "--platform", here.os + "/" + here.arch, "--version", version, "--archives"}, io.Discard, os.Stderr))
	packed, _ := archive(t)
	names := []string{filepath.Base(packed)}
	for _, program := range programs {
		names = append(names, filepath.Join(here.String(), program), program+"-"+here.String()+".cdx.json")
	}
	for _, name := range names {
		one, err := os.ReadFile(filepath.Join(first, name))
		expect.Nil(t, "reading the file of the release", err)
		other, err := os.ReadFile(filepath.Join(out, name))
		expect.Nil(t, "reading the file of the copy", err)
		expect.True(t, name+" with the same bytes in the release and the copy", bytes.Equal(one, other))
	}
}

// Invalid arguments are refused before anything is built.
func TestPackagingArguments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"platform": {[]string{"--platform", "linux/riscv64"}, `--platform: invalid value "linux/riscv64"`},
		"version":  {[]string{"--version", "1 0"}, `--version: invalid value "1 0"`},
		"argument": {[]string{"linux"}, `unknown argument "linux"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := run(append(test.args, "--out", t.TempDir()), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
