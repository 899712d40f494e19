package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	processes "github.com/understudy-mock/understudy/internal/testkit/programs"
)

// fencedCommands matches the blocks of commands in a page.
var fencedCommands = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// Every command of docs/install.md works, in the order of the page. The release is the
// tested one, and the module is this checkout.
func TestPackagingInstallPage(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	if here.String() != "linux-amd64" {
		t.Skip("the page names the archive for linux-amd64")
	}
	processes.Need(t, "the commands of docs/install.md are NOT tested", "man", "sha256sum")
	page, err := os.ReadFile("../../docs/install.md")
	expect.NoError(t, err)
	file, folder := archive(t)
	empty := t.TempDir()
	for _, from := range []string{file, filepath.Join(release(t), "SHA256SUMS")} {
		expect.NoError(t, os.Symlink(from, filepath.Join(empty, filepath.Base(from))))
	}
	root, err := filepath.Abs("../..")
	expect.NoError(t, err)
	script := "export GOBIN=$PWD/gobin GOCACHE='" + goEnv(t, "GOCACHE") + "' GOMODCACHE='" + goEnv(t, "GOMODCACHE") + "'\n"
	for _, m := range fencedCommands.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(m[1]) {
			line = strings.ReplaceAll(line, "understudy-VERSION-linux-amd64", folder)
			line = strings.ReplaceAll(line, "go install github.com/understudy-mock/understudy/cmd/...@latest", "go -C '"+root+"' install ./cmd/...")
			script += line
		}
	}
	if n := strings.Count(script, "\n"); n < 9 {
		t.Fatalf("%d lines, want more", n)
	}
	out := command(t, empty, "bash", "-e", "-o", "pipefail", "-c", script)
	for _, want := range []string{filepath.Base(file) + ": OK", "http://127.0.0.1:", "USER COMMANDS", "running at"} {
		if !strings.Contains(strings.ToUpper(out), strings.ToUpper(want)) {
			t.Errorf("%q is not in the output:\n%s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(empty, "gobin", "understudy-conform")); err != nil {
		t.Errorf("go install: %v", err)
	}
}

// goEnv is a setting of Go, which is missing in the empty environment of a command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	expect.NoError(t, err)
	return strings.TrimSpace(string(out))
}
