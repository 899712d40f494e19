package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/spec"
)

// update writes the tables of operations anew: `make generate`.
var update = flag.Bool("update", false, "write the generated parts of README.md and docs")

const (
	tableBegin = "<!-- operations: written by `make generate` -->\n"
	tableEnd   = "<!-- end -->\n"
)

// TestReadmeOperations holds the tables of operations to the document.
func TestReadmeOperations(t *testing.T) {
	t.Parallel()
	doc, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	inDocument := func(o *spec.Operation) bool { return o.Origin != "extension" }
	all := func(*spec.Operation) bool { return true }
	for file, picked := range map[string]func(*spec.Operation) bool{"README.md": inDocument, "docs/operations.md": all} {
		path := filepath.Join("../..", file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, ok1 := strings.Cut(string(text), tableBegin)
		_, after, ok2 := strings.Cut(rest, tableEnd)
		if !ok1 || !ok2 {
			t.Fatalf("%s: no place for the table of operations", file)
		}
		want := before + tableBegin + operationTable(doc, picked) + tableEnd + after
		if want == string(text) {
			continue
		}
		if !*update {
			t.Errorf("%s: the table of operations is stale: run `make generate`", file)
			continue
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// operationTable is a table in Markdown, by area.
func operationTable(doc *spec.Document, picked func(*spec.Operation) bool) string {
	var rows []string
	for _, o := range doc.Operations() {
		if picked(o) {
			rows = append(rows, fmt.Sprintf("| %s | `%s %s` | `%s` | %s |\n", o.Tag, o.Method, o.Path, o.ID, o.Origin))
		}
	}
	slices.Sort(rows)
	return "\n| area | operation | operationId | origin |\n|---|---|---|---|\n" + strings.Join(rows, "") + "\n"
}

// blocks are the code blocks of README.md, and of further files, in a language.
func blocks(t *testing.T, language string, files ...string) []string {
	t.Helper()
	var text []byte
	for _, file := range append([]string{"README.md"}, files...) {
		part, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	var list []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if m[1] == language {
			list = append(list, m[2])
		}
	}
	if len(list) == 0 {
		t.Fatalf("README.md has no block in %s", language)
	}
	return list
}

// TestReadmeCommands runs every command of the README and of docs/terminal.md, against a server whose
// address replaces the one in the text. Those of make must exist. The shell is
// empty: all that a command knows of the server comes from the eval before it.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		skipLoud(t, "curl is not installed: the commands of the README are NOT tested")
	}
	binary, scratch := build(t), t.TempDir() // what commands write goes there
	server := serve(t, binary)
	if err := os.Symlink(filepath.Dir(binary), filepath.Join(scratch, "bin")); err != nil {
		t.Fatal(err)
	}
	environment := "" // the line of the README that sets it
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(t, "sh", "docs/terminal.md") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if target, ok := strings.CutPrefix(line, "make "); ok {
				target, _, _ = strings.Cut(target, " ")
				if !strings.Contains(string(makefile), "\n"+target+": ") {
					t.Errorf("%s: no such target", line)
				}
				continue
			}
			line = strings.ReplaceAll(line, "http://127.0.0.1:8080", server.URL)
			if strings.HasPrefix(line, "eval ") {
				environment = line + "\n"
			}
			command := exec.CommandContext(t.Context(), "sh", "-c", environment+line)
			command.Env = []string{"UNDERSTUDY_URL=" + server.URL, "HOME=" + scratch, "PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")}
			command.Dir = scratch
			out, err := command.CombinedOutput()
			if err != nil {
				t.Errorf("%s: got %v, want exit status 0\n%s", line, err, out)
			}
			if strings.Contains(line, "/v2/publish/") {
				expect.Contains(t, line, string(out), `"messageId"`)
			}
		}
	}
}

// TestReadmeGo runs the Go test of the README as a package of this module, in a
// folder where it exists for the compiler only.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(t, "go") {
		dir := t.TempDir()
		file := filepath.Join(dir, "shop_test.go")
		if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "docs", "shop_test.go"): file}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
			t.Fatal(err)
		}
		test := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "./docs")
		test.Dir = root
		if out, err := test.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "ok") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestClientReadme runs the JavaScript test of the README with the published
// client, by the command that stands below it.
func TestClientReadme(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		skipLoud(t, "npm is not installed: the JavaScript of the README is NOT tested")
	}
	client, err := filepath.Abs("../../conformance/clients/qstash")
	if err != nil {
		t.Fatal(err)
	}
	install(t, client)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(client, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "order.test.mjs"), []byte(blocks(t, "js")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^understudy run .*order\.test\.mjs$`).FindString(strings.Join(blocks(t, ""), "\n"))
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Dir = dir
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(build(t))+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "pass 1") {
		t.Errorf("%q: %v\n%s", line, err, out)
	}
}
