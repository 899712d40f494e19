package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/effort"
)

// upstream is a row of testdata/upstream.json: the results of a published client's own tests
// against the stand-in. Only the Go modules contain tests; the packages of the JavaScript
// and Python clients do not.
type upstream struct {
	Module, Version string
	Passed, Skipped int
	Failed          map[string]string // name of the test: why it fails
}

// upstreamFlags give every client the indexes, texts and destinations that its tests use.
var upstreamFlags = []string{
	"--stub-preset", "echo-hosts", "--stub", `api/llm=200:{"choices":[]}`, "--embed", "hash",
	"--vector-index", "main=DENSE:2:COSINE", "--vector-index", "sparse=SPARSE", "--vector-index", "hybrid=HYBRID:2:COSINE",
	"--vector-index", "embedding=DENSE:64:COSINE", "--vector-index", "hybrid_embedding=HYBRID:64:COSINE",
}

// upstreamIndexes are the indexes in the tests of vector clients: the prefix of a variable,
// and the index of upstreamFlags.
var upstreamIndexes = map[string]string{"": "MAIN", "SPARSE_": "SPARSE", "HYBRID_": "HYBRID", "EMBEDDING_": "EMBEDDING", "HYBRID_EMBEDDING_": "HYBRID_EMBEDDING"}

// TestClientUpstream runs the own tests of published clients and compares the results with a
// table, so that neither a failure nor an improvement is overlooked.
func TestClientUpstream(t *testing.T) {
	t.Parallel()
	effort.Long(t, "runs the whole suites of published clients")
	text, err := os.ReadFile("testdata/upstream.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []upstream
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatalf("testdata/upstream.json: %v", err)
	}
	binary := build(t)
	for _, want := range rows {
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

// run counts the results of a client's tests against a server of their own, and returns what
// the tests print. A failure has the reason that the table gives.
func (u *upstream) run(t *testing.T, binary string, reasons map[string]string) string {
	t.Helper()
	tests := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-json", ".")
	tests.Dir = u.sources(t)
	server := serve(t, binary, upstreamFlags...)
	tests.Env = append(os.Environ(), server.Env...)
	for prefix, name := range upstreamIndexes {
		for _, what := range []string{"URL", "TOKEN"} {
			tests.Env = append(tests.Env, prefix+"UPSTASH_VECTOR_REST_"+what+"="+server.Variable("UNDERSTUDY_VECTOR_"+name+"_"+what))
		}
	}
	// A test compares times of the client and the server. The hosted service never answers
	// within the same millisecond.
	delay, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/_understudy/faults", strings.NewReader(`[{"on":"api","delay":"2ms"}]`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(delay)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()

	var output strings.Builder
	events, _ := tests.Output() // failures are events
	for lines := bufio.NewScanner(bytes.NewReader(events)); lines.Scan(); {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
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

// sources returns a folder with the client and its tests.
func (u *upstream) sources(t *testing.T) string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", u.Module+"@"+u.Version).Output()
	if err != nil {
		skipLoud(t, "go mod download "+u.Module+"@"+u.Version+": "+err.Error()+": the client's own tests are NOT run")
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(list, &module); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(module.Dir)); err != nil {
		t.Fatal(err)
	}
	return folder
}
