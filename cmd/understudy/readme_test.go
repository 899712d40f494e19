package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/spec"
)

const (
	tableBegin = "<!-- operations: written by `make generate` -->\n"
	tableEnd   = "<!-- end -->\n"
)

// TestGeneratedOperationTable compares the tables of operations with the document.
func TestGeneratedOperationTable(t *testing.T) {
	t.Parallel()
	doc, err := spec.Load()
	expect.NoError(t, err)
	expect.GeneratedPart(t, "../../docs/reference/operations.md", tableBegin, tableEnd, operationTable(doc))
}

// operationTable is a Markdown table, ordered by area.
func operationTable(doc *spec.Document) string {
	var rows []string
	for _, o := range doc.Operations() {
		rows = append(rows, fmt.Sprintf("| %s | `%s %s` | `%s` | %s |\n", o.Tag, o.Method, o.Path, o.ID, o.Origin))
	}
	slices.Sort(rows)
	return "\n| area | operation | operationId | origin |\n|---|---|---|---|\n" + strings.Join(rows, "") + "\n"
}

// TestClientReadme runs the first tests of the pages in a clone of this checkout, with their
// commands. They need the package registries.
func TestClientReadme(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the tests of the README are NOT run", "git", "make", "npm", "python3")
	dir := t.TempDir()
	script := "git clone --quiet 'file://" + abs(t, "../..") + "' understudy\ncd understudy\n"
	languages := map[string]bool{}
	for _, b := range firstTests(t) {
		if b.mark == "run by TestClientReadme" {
			languages[b.language] = true
			if b.language == "sh" {
				script += b.text
			}
		}
	}
	if !languages["go"] || !languages["js"] || !languages["python"] {
		t.Errorf("the pages have tests of examples/first in %v, want Go, JavaScript and Python", languages)
	}
	c := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", script)
	c.Dir, c.Env = dir, append(os.Environ(), "DIST="+filepath.Join(dir, "understudy", "dist")) // make verify sets another
	out, err := c.CombinedOutput()
	if err != nil && regexp.MustCompile(`npm error network|No matching distribution found for hatchling`).Match(out) {
		skipLoud(t, fmt.Sprintf("the registries cannot be reached: the tests of the README are NOT run: %s", out))
	}
	for _, want := range []string{"ok  \tgithub.com/understudy-mock/understudy/examples/first", "# pass 1", "1 passed"} {
		if err != nil || !strings.Contains(strings.ReplaceAll(string(out), "ℹ", "#"), want) {
			t.Fatalf("%v: %q is not printed:\n%s", err, want, out)
		}
	}
}

// firstTests are the blocks of README.md, and those of docs/testing.md about a first test.
func firstTests(t *testing.T) []pageBlock {
	t.Helper()
	return append(pageBlocks(t, "README.md"), slices.DeleteFunc(pageBlocks(t, "docs/testing.md"), func(b pageBlock) bool { return b.mark != "run by TestClientReadme" })...)
}

// TestReadmeCounts counts the commands from the clone to the first delivery and to a green
// test, which the README promises.
func TestReadmeCounts(t *testing.T) {
	t.Parallel()
	text := readFiles(t, "../../README.md")[0] + readFiles(t, "../../docs/testing.md")[0]
	var commands []string
	for _, b := range firstTests(t) {
		for line := range strings.Lines(b.text) {
			if b.language == "sh" {
				commands = append(commands, strings.Split(strings.TrimSpace(line), " && ")...)
			}
		}
	}
	// count counts the commands that a reader types to get to last, without those of others.
	count := func(last string, others ...string) (n int) {
		for _, c := range commands {
			if slices.ContainsFunc(others, func(other string) bool { return strings.Contains(c, other) }) {
				continue
			}
			if n++; strings.HasPrefix(c, last) {
				return n
			}
		}
		t.Errorf("the README has no command %s", last)
		return n
	}
	delivery := []string{"make run", "export PATH", "understudy ctl", "understudy env", "curl "} // of the first section
	want := fmt.Sprintf("From clone to green test, that's %d commands in Go, %d in JavaScript and %d in Python",
		count("go test", delivery...), count("node --test", append(delivery, "go test")...), count("pytest", append(delivery, "go test", "npm install", "node --test")...))
	expect.Contains(t, "docs/testing.md", text, want)
	expect.Contains(t, "README.md", text, fmt.Sprintf("That's %d commands from clone to first delivery", count("understudy ctl publish")))
}

// walkRow is a row of the walk in docs/contributing/architecture.md.
var walkRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+\\.go)` \\| `(\\w+)` \\|$")

// Each function of the walk from publish to delivery is in the file that the page names.
func TestArchitectureWalk(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/contributing/architecture.md")
	expect.NoError(t, err)
	rows := walkRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Fatalf("rows of the walk: got %d, want 10 or more", len(rows))
	}
	for _, row := range rows {
		source, err := os.ReadFile(filepath.Join("../..", row[1]))
		if err != nil || !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+row[2]+`[\[(]`).Match(source) {
			t.Errorf("docs/contributing/architecture.md: %s has no function %s: %v", row[1], row[2], err)
		}
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	expect.NoError(t, err)
	return path
}
