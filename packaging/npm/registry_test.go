package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// testRegistry installs by name, as users do: a registry on loopback has the packages of this
// platform, and redirects requests for others to the configured one.
func testRegistry(t *testing.T, made product) {
	usual := strings.TrimSpace(must(t, t.TempDir(), "npm", "config", "get", "registry"))
	registry := httptest.NewServer(newPublished(strings.TrimSuffix(usual, "/")))
	t.Cleanup(registry.Close)
	settings := filepath.Join(t.TempDir(), "npmrc")
	expect.NoError(t, os.WriteFile(settings, []byte("//"+strings.TrimPrefix(registry.URL, "http://")+"/:_authToken=none\n"), 0o600))
	// The cache is new, because loopback addresses are reused.
	env := "export npm_config_registry=" + registry.URL + " npm_config_userconfig='" + settings + "' npm_config_cache='" + t.TempDir() + "' npm_config_yes=true npm_config_audit=false npm_config_fund=false; "
	for _, file := range made.packages {
		must(t, t.TempDir(), "sh", "-c", env+"npm publish --tag latest '"+file+"'")
	}
	t.Run("npx in an empty folder", func(t *testing.T) {
		t.Parallel()
		expect.Contains(t, "printed", must(t, t.TempDir(), "sh", "-c", env+"npx understudy-mock version"), "understudy "+made.printed)
	})
	t.Run("without optional dependencies", func(t *testing.T) {
		t.Parallel()
		empty := t.TempDir()
		must(t, empty, "sh", "-c", env+"npm install --omit=optional understudy-mock")
		out, err := run(t, empty, "sh", "-c", env+"exec npx understudy version")
		if codeOf(err) != 2 || !strings.Contains(out, "npm install --save-dev understudy-mock-") {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("the commands of docs/testing-javascript.md, from an empty folder to a passing test", func(t *testing.T) {
		t.Parallel()
		page, err := os.ReadFile(root + "/docs/testing-javascript.md")
		expect.NoError(t, err)
		lines := regexp.MustCompile("(?m)^npm install understudy-mock .*\nnode .*$").FindString(string(page))
		if strings.Count(lines, "\n") != 1 {
			t.Fatal("docs/testing-javascript.md has no two commands")
		}
		install, test, _ := strings.Cut(lines, "\n")
		empty := t.TempDir()
		if out, err := run(t, empty, "sh", "-c", env+install); err != nil {
			programs.SkipLoud(t, "the packages of docs/testing-javascript.md cannot be installed: "+out)
		}
		if out := must(t, empty, "sh", "-c", test); !regexp.MustCompile(`(?m)^(#|ℹ) fail 0$`).MatchString(out) {
			t.Errorf("printed %s", out)
		}
	})
}

// manifestOf reads package.json from an archive.
func manifestOf(t *testing.T, file string) map[string]any {
	t.Helper()
	f, err := os.Open(file)
	expect.NoError(t, err)
	defer func() { _ = f.Close() }() // only read
	z, err := gzip.NewReader(f)
	expect.NoError(t, err)
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s: no package.json", file)
		}
		expect.NoError(t, err)
		if h.Name == "package/package.json" {
			var manifest map[string]any
			expect.NoError(t, json.NewDecoder(archive).Decode(&manifest))
			return manifest
		}
	}
}
