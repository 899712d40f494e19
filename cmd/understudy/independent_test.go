package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// independent is the server that was written from the interface document alone.
const independent = "../../conformance/testdata/independent/server.py"

// startIndependent starts the independent server with its switches, and gives the
// target file that it has filled in.
func startIndependent(t *testing.T, switches ...string) (targetFile string) {
	t.Helper()
	targetFile = filepath.Join(t.TempDir(), "target.yaml")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	server := exec.CommandContext(ctx, "python3", append([]string{"-B", independent, "--target", targetFile}, switches...)...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // it was killed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening on ") {
		t.Fatalf("the independent server printed %q: %v", line, err)
	}
	return targetFile
}

// conformAgainst runs the binary against a target as a user does: another process, in real
// time. It gives the exit code and what was printed.
func conformAgainst(t *testing.T, binary, targetFile string, flags ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, binary, append([]string{"conform", "--target", targetFile}, flags...)...)
	out, err := run.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatalf("%v: %s", err, out)
	}
	return run.ProcessState.ExitCode(), string(out)
}

// TestIndependent: the independent server is innocent, whatever it does where the
// interface document is silent. Each of its switches is legal by a silence that
// oddities.py names. MUTANTS=full tries every switch alone, and slow suites.
func TestIndependent(t *testing.T) {
	if raced {
		t.Skip("it looks for verdicts, not for races")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		skipLoud(t, "python3 is not installed: the suite is NOT tried against the independent server")
	}
	binary := build(t)
	variants := [][]string{{}, {"--all"}}
	if os.Getenv("MUTANTS") == "full" {
		list, err := exec.CommandContext(t.Context(), "python3", "-B", independent, "--list").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(list)) {
			variants = append(variants, []string{strings.TrimSuffix(line, "\n")})
		}
		variants = append(variants, []string{"--rps=20"}, []string{"--all", "--rps=20"})
	}
	for _, switches := range variants {
		t.Run(fmt.Sprintf("is innocent with %q", switches), func(t *testing.T) {
			t.Parallel()
			if code, out := conformAgainst(t, binary, startIndependent(t, switches...)); code != 0 {
				t.Errorf("exit code: got %d, want 0; it printed:\n%s", code, out)
			}
		})
	}
}

// TestIndependentOddities: there are enough of them, and each names its silence.
func TestIndependentOddities(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		skipLoud(t, "python3 is not installed: the oddities of the independent server are NOT counted")
	}
	list, err := exec.CommandContext(t.Context(), "python3", "-B", independent, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		names[name] = true
	}
	if len(names) < 25 {
		t.Errorf("switches: got %d, want at least 25", len(names))
	}
}
