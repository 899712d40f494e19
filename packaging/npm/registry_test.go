package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/programs"
)

// testRegistry installs by name, as users do: a registry on loopback has the packages, and
// redirects requests for others to the configured one.
func testRegistry(t *testing.T, made product) {
	usual := strings.TrimSpace(must(t, t.TempDir(), "npm", "config", "get", "registry"))
	registry := httptest.NewServer(serveRegistry(t, usual, made))
	t.Cleanup(registry.Close)
	// The cache is new, because loopback addresses are reused.
	env := "export npm_config_registry=" + registry.URL + " npm_config_cache='" + t.TempDir() + "' npm_config_yes=true npm_config_audit=false npm_config_fund=false; "
	t.Run("npx in an empty folder", func(t *testing.T) {
		t.Parallel()
		if out := must(t, t.TempDir(), "sh", "-c", env+"npx understudy-mock version"); !strings.Contains(out, "understudy "+made.printed) {
			t.Errorf("printed %s", out)
		}
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
		if err != nil {
			t.Fatal(err)
		}
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

// serveRegistry answers for the packages, and redirects for all others.
func serveRegistry(t *testing.T, usual string, made product) http.Handler {
	t.Helper()
	about, archives := map[string]map[string]any{}, map[string]string{}
	for _, p := range platforms { // npm does not fetch packages of other platforms
		about[p.name()] = map[string]any{"name": p.name(), "version": made.version, "os": []string{p.os}, "cpu": []string{p.cpu}, "dist": map[string]string{}}
	}
	for _, file := range made.packages {
		manifest := manifestOf(t, file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(text)
		manifest["dist"] = map[string]string{"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		name, _ := manifest["name"].(string)
		about[name], archives[filepath.Base(file)] = manifest, file
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if file, ok := archives[path.Base(name)]; ok {
			http.ServeFile(w, r, file)
			return
		}
		manifest, ok := about[name]
		if !ok {
			http.Redirect(w, r, strings.TrimSuffix(usual, "/")+r.URL.EscapedPath(), http.StatusFound)
			return
		}
		dist, _ := manifest["dist"].(map[string]string)
		version, _ := manifest["version"].(string)
		one := maps.Clone(manifest)
		one["dist"] = map[string]string{"integrity": dist["integrity"], "tarball": "http://" + r.Host + "/" + name + "/-/" + name + "-" + version + ".tgz"}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: one}}) // the client may have disconnected
	})
}

// manifestOf reads package.json from an archive.
func manifestOf(t *testing.T, file string) map[string]any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s: no package.json", file)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "package/package.json" {
			var manifest map[string]any
			if err := json.NewDecoder(archive).Decode(&manifest); err != nil {
				t.Fatal(err)
			}
			return manifest
		}
	}
}
