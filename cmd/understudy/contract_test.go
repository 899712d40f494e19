package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/spec"
)

// contractFlags make a server whose credentials never change, which delivers
// nothing to anybody and keeps every message.
var contractFlags = []string{
	"--dialect", "svc", "--seed", "1", "--account", "contract:contract-token", "--control-token", "contract-control",
	"--stub", "*=200", "--embed", "hash", "--max-backlog", "10000000", "--log-level", "error",
}

// contractLimit is the real time that one document may take; with CONTRACT, a
// number of examples for each operation, it may take as long as it needs.
const contractLimit = 10 * time.Minute

// contracts are the documents, and the operations that are left out of each,
// with the reason.
var contracts = []struct {
	name     string
	flags    []string
	load     func() (*spec.Document, error)
	examples string
	excluded map[string]string
}{
	{"interface", nil, spec.Load, "10", nil},
}

// TestContract holds a server process to its own documents, as they are printed:
// schemathesis makes valid and invalid requests of them and checks the answers.
func TestContract(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		skipLoud(t, "python3 is not installed: the documents are NOT tested against the server")
	}
	const dir = "../../conformance/contract"
	modules, binary := installPython(t, dir), build(t)
	for _, c := range contracts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := c.load()
			if err != nil {
				t.Fatal(err)
			}
			text, err := exec.CommandContext(t.Context(), binary, append([]string{"spec", "--format", "json"}, c.flags...)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "document.json")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			examples := c.examples
			if more := os.Getenv("CONTRACT"); more != "" {
				examples = more
			}
			server := serve(t, binary, contractFlags...)
			args := []string{"run", file, "--url", server.url, "--no-color", "--max-examples", examples}
			for id, why := range c.excluded {
				t.Logf("left out: %s: %s", id, why)
				args = append(args, "--exclude-operation-id", id)
			}
			env := append(server.env, "UNDERSTUDY_CONTROL_TOKEN=contract-control", "PYTHONPATH="+modules+":"+dir)
			found := schemathesis(t, modules, dir, env, args...)
			if want := len(doc.Operations()) - len(c.excluded); found.Operations.Tested != want {
				t.Errorf("%d operations tested, want %d", found.Operations.Tested, want)
			}
			t.Logf("%d operations, %d requests, %d findings", found.Operations.Tested, found.TestCases.Generated, found.TestCases.UniqueFailures)
		})
	}
}

// contractReport is what is read of the report of a run.
type contractReport struct {
	Operations struct{ Tested int }
	TestCases  struct {
		Generated      int
		UniqueFailures int `json:"unique_failures"`
	} `json:"test_cases"`
}

// schemathesis runs it in a folder of its own, and fails the test with what it
// has found.
func schemathesis(t *testing.T, modules, config string, env []string, args ...string) (found contractReport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), contractLimit)
	defer cancel()
	if os.Getenv("CONTRACT") != "" {
		ctx = t.Context()
	}
	config, err := filepath.Abs(filepath.Join(config, "schemathesis.toml"))
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	args = append([]string{filepath.Join(modules, "bin", "schemathesis"), "--config-file", config}, args...)
	run := exec.CommandContext(ctx, "python3", append(args, "--report", "json", "--report-json-path", report)...)
	run.Dir, run.Env = t.TempDir(), append(os.Environ(), append(env, "PYTHONDONTWRITEBYTECODE=1")...)
	out, err := run.CombinedOutput()
	text, unread := os.ReadFile(report)
	if unread == nil {
		unread = json.Unmarshal(text, &found)
	}
	if err != nil || unread != nil {
		t.Error(strings.TrimSpace(fmt.Sprintf("schemathesis: %v %v\n%s", err, unread, out)))
	}
	return found
}
