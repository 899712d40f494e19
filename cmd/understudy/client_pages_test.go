package main

import (
	"encoding/json"
	"errors"
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
)

// TestClientPages runs the code of the pages that use published clients and frameworks.
func TestClientPages(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	programs.Need(t, "the pages with published clients are NOT tested", "npm", "python3")
	const packages = "testdata/pages"
	install(t, packages)
	modules := installPython(t, packages)
	node, err := filepath.Abs(packages + "/node_modules")
	installed := string(readFile(t, packages+"/package.json")) + string(readFile(t, packages+"/requirements.txt"))
	expect.NoError(t, err)
	for _, page := range pageFiles(t) {
		blocks := pageBlocks(t, page)
		for _, b := range blocks {
			if b.mark == "run by TestClientPages" { // expectInstalled checks the packages and versions
				expectInstalled(t, fmt.Sprintf("%s:%d", page, b.line), b.text, installed)
			}
		}
		if usesClients(blocks) {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				runPage(t, page, blocks, "PYTHONPATH="+modules, "NODE_PACKAGES="+node)
			})
		}
	}
}

// expectInstalled fails for each package of npm install and pip install that the tests do not
// install.
func expectInstalled(t *testing.T, where, commands, installed string) {
	t.Helper()
	for line := range strings.Lines(commands) {
		words := strings.Fields(line)
		if len(words) < 2 || words[1] != "install" {
			continue
		}
		for _, name := range words[2:] {
			if !regexp.MustCompile(`(?m)(?:"|^)` + regexp.QuoteMeta(name) + `(?:"|==)`).MatchString(installed) {
				t.Errorf("%s: %s: the tests of the pages do not install it", where, name)
			}
		}
	}
}

// TestClientPagesNext runs the routes of Next.js that pages mark for it. They are functions
// of a request, so the package of Next.js is not needed.
func TestClientPagesNext(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the route of Next.js is NOT tested", "npm")
	const packages = "testdata/pages"
	install(t, packages)
	dir, routes := t.TempDir(), 0
	for name, target := range map[string]string{"node_modules": packages + "/node_modules", "next-route.mjs": packages + "/next-route.mjs"} {
		expect.NoError(t, os.Symlink(abs(t, target), filepath.Join(dir, name)))
	}
	server := serve(t, build(t))
	for _, page := range pageFiles(t) {
		for _, b := range pageBlocks(t, page) {
			if b.mark != "run by TestClientPagesNext" {
				continue
			}
			routes++
			expect.NoError(t, os.WriteFile(filepath.Join(dir, "route.mjs"), []byte(b.text), 0o600))
			runClient(t, dir, server.Env, "node", "--preserve-symlinks", "--preserve-symlinks-main", "next-route.mjs", "./route.mjs")
		}
	}
	if routes == 0 {
		t.Error("no page has a route of Next.js")
	}
}

// TestClientPagesGo runs the Go tests that pages mark for it, as packages of this module
// together with the published client.
func TestClientPagesGo(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	expect.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		own, err1 := os.ReadFile(filepath.Join(root, name))
		client, err2 := os.ReadFile(filepath.Join(root, "conformance/clients/qstash-go", name))
		expect.NoError(t, errors.Join(err1, err2))
		if name == "go.mod" {
			client = []byte("\n" + regexp.MustCompile(`(?m)^require github.com/upstash/qstash-go .*$`).FindString(string(client)) + "\n")
		}
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), slices.Concat(own, client), 0o600))
	}
	for _, page := range pageFiles(t) {
		for i, b := range pageBlocks(t, page) {
			if b.mark != "run by TestClientPagesGo" {
				continue
			}
			file := filepath.Join(dir, fmt.Sprintf("block-%d_test.go", i))
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "examples/javascript/page_test.go"): file}})
			expect.NoError(t, err)
			expect.NoError(t, errors.Join(os.WriteFile(file, []byte(b.text), 0o600), os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)))
			c := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-modfile", filepath.Join(dir, "go.mod"), "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "./examples/javascript")
			c.Dir = root
			if out, err := c.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "ok") {
				t.Errorf("%s:%d: %v: %s", page, b.line, err, out)
			}
		}
	}
}
