package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// upstream is a row of testdata/upstream.json: the results of a published client's own tests
// against the stand-in. Only the Go modules contain tests; the packages of the JavaScript
// and Python clients do not.
type upstream struct {
	Module, Version string
	Passed, Skipped int
	Failed          map[string]string // name of the test: why it fails
}

// upstreamPage has the commands that run the tests of each client.
const upstreamPage = "docs/conformance/run-a-clients-suite.md"

// TestClientUpstream runs the own tests of published clients with the commands of a page, and
// compares the results with a table, so that neither a failure nor an improvement is overlooked.
func TestClientUpstream(t *testing.T) {
	t.Parallel()
	effort.Long(t, "runs the whole suites of published clients")
	binary := build(t)
	for _, want := range upstreamRows(t) {
		t.Run(path.Base(want.Module), func(t *testing.T) {
			t.Parallel()
			got := upstream{Module: want.Module, Version: want.Version, Failed: map[string]string{}}
			output := got.run(t, binary, want.Failed)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("results (-testdata/upstream.json +got):\n%s\n%s", diff, output)
			}
		})
	}
}

func upstreamRows(t *testing.T) (rows []upstream) {
	t.Helper()
	if err := json.Unmarshal(readFile(t, "testdata/upstream.json"), &rows); err != nil {
		t.Fatalf("testdata/upstream.json: %v", err)
	}
	return rows
}

// The page says how many tests of each client pass.
func TestUpstreamPageCounts(t *testing.T) {
	t.Parallel()
	page := string(readFile(t, "../../"+upstreamPage))
	for _, row := range upstreamRows(t) {
		expect.Contains(t, upstreamPage, page, fmt.Sprintf("## %s\n\n%d tests pass.", path.Base(row.Module), row.Passed))
	}
}

// run counts the results of a client's tests, and returns what they print. A failure has the
// reason that the table gives.
func (u *upstream) run(t *testing.T, binary string, reasons map[string]string) string {
	t.Helper()
	tests := exec.CommandContext(t.Context(), "bash", "-c", `git() { cp -r "$SOURCES" "$(basename "${!#}")"; }`+"\n"+u.commands(t))
	tests.Dir = t.TempDir()
	tests.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"), "GOFLAGS=-json -count=1", "SOURCES="+u.sources(t))
	var output strings.Builder
	printed, _ := tests.Output() // failures are events
	for lines := bufio.NewScanner(bytes.NewReader(printed)); lines.Scan(); {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil { // of another command
			event.Output = lines.Text() + "\n"
		}
		output.WriteString(event.Output)
		switch {
		case event.Test == "":
		case event.Action == "pass":
			u.Passed++
		case event.Action == "skip":
			u.Skipped++
		case event.Action == "fail":
			u.Failed[event.Test] = reasons[event.Test]
		}
	}
	return output.String()
}

// commands returns the commands of the page for a client at the version of the table.
func (u *upstream) commands(t *testing.T) string {
	t.Helper()
	clone := "git clone --depth 1 --branch " + u.Version + " https://" + u.Module + "\n"
	for _, b := range pageBlocks(t, upstreamPage) {
		if b.mark == "run by TestClientUpstream" && strings.HasPrefix(b.text, clone) {
			return b.text
		}
	}
	t.Fatalf("%s has no block that begins with %q", upstreamPage, clone)
	return ""
}

// sources returns a folder with the client and its tests.
func (u *upstream) sources(t *testing.T) string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", u.Module+"@"+u.Version).Output()
	if err != nil {
		skipLoud(t, "go mod download "+u.Module+"@"+u.Version+": "+err.Error()+": the client's own tests are NOT run")
	}
	var module struct{ Dir string }
	expect.NoError(t, json.Unmarshal(list, &module))
	folder := t.TempDir()
	expect.NoError(t, os.CopyFS(folder, os.DirFS(module.Dir)))
	return folder
}
