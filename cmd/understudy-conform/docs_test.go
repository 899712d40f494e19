package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

var fencedYAML = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// The suite accepts the target file of docs/conformance/target.md.
func TestDocumentedTargetFileLoads(t *testing.T) {
	text, err := os.ReadFile("../../docs/conformance/target.md")
	if err != nil {
		t.Fatal(err)
	}
	m := fencedYAML.FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/conformance/target.md has no target file")
	}
	for _, name := range []string{"ACME_TOKEN", "ACME_VECTOR_TOKEN", "ACME_KV_TOKEN", "ACME_USER", "ACME_KEY", "ACME_USER_ID"} {
		t.Setenv(name, "secret")
	}
	file := filepath.Join(t.TempDir(), "target.yaml")
	if err := os.WriteFile(file, m[1], 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := target.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Target.Name != "acme-queue" || loaded.Drivers["run"].Trigger == nil {
		t.Errorf("read: %+v", loaded)
	}
}

// The target file of docs/conformance/README.md finds exactly the known gap of the partial server.
func TestDocumentedValidation(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	text, err := os.ReadFile("../../docs/conformance/README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	partial := filepath.Join(dir, "partial")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", partial, "../../conformance/testdata/partial").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.Command(partial, "127.0.0.1:0")
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(strings.TrimPrefix(line, "listening at "))
	file := strings.ReplaceAll(string(fencedYAML.FindSubmatch(text)[1]), "http://127.0.0.1:9000", address)
	if err := os.WriteFile(filepath.Join(dir, "target.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := target.Load(filepath.Join(dir, "target.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	judged, err := conformance.Run(t.Context(), conformance.Config{Target: *loaded, Concurrency: 24})
	if err != nil {
		t.Fatal(err)
	}
	if code := judged.ExitCode(); code != report.ExitFailed {
		t.Errorf("exit %d; the page says 1", code)
	}
	for i := range judged.Results {
		r := &judged.Results[i]
		gap := strings.Contains(strings.Join(r.Requirements, " "), "PUB-009") || strings.HasPrefix(r.Location, "webhook.feature") && strings.Contains(r.Name, "knows nothing but a URL")
		switch {
		case r.Verdict == report.Fail && !gap:
			t.Errorf("%s %s fails: %s", r.Location, r.Name, r.Detail)
		case r.Verdict != report.Fail && gap && r.Verdict != report.NotApplicable: // the target file claims no groups
			t.Errorf("%s %s: %s; the gap was not found", r.Location, r.Name, r.Verdict)
		case r.Verdict == report.HarnessError:
			t.Errorf("%s %s: %s", r.Location, r.Name, r.Detail)
		}
	}
}
