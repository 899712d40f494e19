package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// copied copies or links a program into another folder.
func copied(t *testing.T, program, folder string) string {
	t.Helper()
	file := filepath.Join(folder, filepath.Base(program))
	if err := os.Link(program, file); err == nil {
		return file
	}
	text, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(file, text, 0o700)
	}
	expect.NoError(t, err)
	return file
}

// fake writes a script as the suite program.
func fake(t *testing.T, folder, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("scripts of sh")
	}
	expect.NoError(t, os.WriteFile(filepath.Join(folder, suiteProgram), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
}

// runs runs a program with no variables except PATH and HOME.
func runs(t *testing.T, path string, stdin string, program string, args ...string) (code int, out, errs string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = []string{"PATH=" + path, "HOME=" + t.TempDir()}
	c.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

const system = "/usr/bin:/bin"

func TestSuiteIsAProgramOfItsOwn(t *testing.T) {
	t.Parallel()
	binary := build(t)
	const echo = `echo "$0|$*"; cat; echo problem >&2; exit 7`
	t.Run("next to this program, with its arguments, streams and exit code", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		fake(t, dir, echo)
		code, out, errs := runs(t, system, "typed", copied(t, binary, dir), "conform", "--list", "--tags", "@a and @b")
		want := filepath.Join(dir, suiteProgram) + "|conform --list --tags @a and @b\ntyped"
		expect.Equal(t, "exit code", code, 7)
		expect.True(t, "standard output that ends with the arguments and the input", strings.HasSuffix(out, want))
		expect.Equal(t, "standard error", errs, "problem\n")
	})
	t.Run("next to the program that a link points to", func(t *testing.T) {
		t.Parallel()
		dir, link := t.TempDir(), filepath.Join(t.TempDir(), "us")
		fake(t, dir, echo)
		expect.NoError(t, os.Symlink(copied(t, binary, dir), link))
		if code, _, errs := runs(t, system, "", link, "report", "diff", "a", "b"); code != 7 {
			t.Errorf("exit %d, %s; want 7", code, errs)
		}
	})
	t.Run("otherwise on the PATH", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		fake(t, dir, echo)
		if code, _, errs := runs(t, dir+":"+system, "", copied(t, binary, t.TempDir()), "conform"); code != 7 {
			t.Errorf("exit %d, %s; want 7", code, errs)
		}
	})
	t.Run("if it is missing, one line names what to install", func(t *testing.T) {
		t.Parallel()
		code, out, errs := runs(t, system, "", copied(t, binary, t.TempDir()), "report", "diff", "a", "b")
		expect.Equal(t, "exit code", code, 2)
		expect.Equal(t, "standard output", out, "")
		expect.Equal(t, "lines of standard error", strings.Count(errs, "\n"), 1)
		if expect.True(t, "standard error that starts with \"understudy: understudy-conform not found in \"", strings.HasPrefix(errs, "understudy: understudy-conform not found in ")) {
			expect.Contains(t, "standard error", errs, "install")
		}
	})
	t.Run("if it is missing, help and completions still list its flags", func(t *testing.T) {
		t.Parallel()
		alone := copied(t, binary, t.TempDir())
		for _, args := range [][]string{{"conform", "--help"}, {"help", "conform"}, {"complete", "--", "conform", "--check"}} {
			if code, out, errs := runs(t, system, "", alone, args...); code != 0 || !strings.Contains(out, "--check-target") {
				t.Errorf("%q: exit %d, %s%s; want 0 and the flags", args, code, out, errs)
			}
		}
	})
	t.Run("the suite alone cannot start a server", func(t *testing.T) {
		t.Parallel()
		code, _, errs := runs(t, system, "", copied(t, filepath.Join(filepath.Dir(binary), suiteProgram), t.TempDir()), "conform", "--requirement", "REQ-GRP-001")
		expect.Equal(t, "exit code", code, 2)
		expect.Equal(t, "lines of standard error", strings.Count(errs, "\n"), 1)
		expect.True(t, "standard error that starts with \"understudy: understudy not found in \"", strings.HasPrefix(errs, "understudy: understudy not found in "))
	})
}

// A signal to this program reaches the suite, which can then end cleanly.
func TestSuiteReceivesSignals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fake(t, dir, `trap 'echo stopped; exit 9' TERM; echo started; while :; do sleep 0.05; done`)
	c := exec.CommandContext(t.Context(), copied(t, build(t), dir), "conform")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	expect.NoError(t, err)
	var said bytes.Buffer
	buffer := make([]byte, 64)
	for !strings.Contains(said.String(), "started\n") {
		n, err := out.Read(buffer)
		if said.Write(buffer[:n]); err != nil {
			t.Fatalf("%q: %v", said.String(), err)
		}
	}
	_ = c.Process.Signal(syscall.SIGTERM) // Wait reports errors
	_, _ = said.ReadFrom(out)
	if _ = c.Wait(); c.ProcessState.ExitCode() != 9 || !strings.HasSuffix(said.String(), "stopped\n") {
		t.Errorf("exit %d, %q; want 9 and \"stopped\"", c.ProcessState.ExitCode(), said.String())
	}
}

func TestVersionsOfBothPrograms(t *testing.T) {
	t.Parallel()
	binary := build(t)
	t.Run("version prints both", func(t *testing.T) {
		t.Parallel()
		code, out, errs := runs(t, system, "", binary, "version")
		lines := strings.Fields(out)
		expect.Equal(t, "exit code", code, 0)
		expect.Equal(t, "standard error", errs, "")
		if expect.Equal(t, "number of lines", len(lines), 4) {
			expect.Equal(t, "name of the first program", lines[0], "understudy")
			expect.Equal(t, "name of the second program", lines[2], suiteProgram)
			expect.Equal(t, "version of the first program", lines[1], lines[3])
		}
	})
	t.Run("version reports that one is missing", func(t *testing.T) {
		t.Parallel()
		if code, out, _ := runs(t, system, "", copied(t, binary, t.TempDir()), "version"); code != 0 || !strings.HasSuffix(out, "\nunderstudy-conform is not installed\n") {
			t.Errorf("exit %d, %q; want 0 and a line about %s", code, out, suiteProgram)
		}
	})
	t.Run("different versions give one line of warning", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		copied(t, filepath.Join(filepath.Dir(binary), suiteProgram), dir)
		other := filepath.Join(dir, "understudy")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X main.version=9.9.9", "-o", other, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		const want = "understudy: WARNING: understudy is version 9.9.9, but understudy-conform is version "
		for _, args := range [][]string{{"version"}, {"conform", "--list", "--requirement", "REQ-RTY-004"}} {
			code, _, errs := runs(t, system, "", other, args...)
			expect.Equal(t, fmt.Sprintf("%q: exit code", args), code, 0)
			expect.Equal(t, fmt.Sprintf("%q: lines of standard error", args), strings.Count(errs, "\n"), 1)
			expect.True(t, fmt.Sprintf("%q: standard error that starts with the warning", args), strings.HasPrefix(errs, want))
		}
	})
}
