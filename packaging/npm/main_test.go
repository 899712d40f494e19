package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// fake writes packages from files that are not programs.
func fake(t *testing.T, only string) []string {
	t.Helper()
	dist := t.TempDir()
	for _, p := range platforms {
		folder := filepath.Join(dist, p.folder())
		expect.NoError(t, os.MkdirAll(folder, 0o755))
		for _, b := range binaries {
			expect.NoError(t, os.WriteFile(filepath.Join(folder, b+p.exe()), []byte(b+" for "+p.folder()), 0o600))
		}
	}
	expect.NoError(t, os.WriteFile(filepath.Join(dist, "NOTICE"), []byte("licences"), 0o600))
	files, err := build(&order{root, dist, t.TempDir(), "1.2.3", only})
	expect.NoError(t, err)
	return files
}

func TestTarballs(t *testing.T) {
	t.Parallel()
	files := fake(t, "")
	launcher := manifestOf(t, files[0])
	t.Run("the launcher and each platform have one", func(t *testing.T) {
		if got, want := len(files), 1+len(platforms); got != want {
			t.Errorf("tarballs: got %d, want %d: %v", got, want, files)
		}
	})
	t.Run("the launcher depends on all of them in its own version", func(t *testing.T) {
		want := map[string]any{}
		for _, p := range platforms {
			want[p.name()] = "1.2.3"
		}
		if diff := cmp.Diff(want, launcher["optionalDependencies"]); diff != "" || launcher["version"] != "1.2.3" {
			t.Errorf("version %v: %s", launcher["version"], diff)
		}
	})
	t.Run("no package has scripts or dependencies", func(t *testing.T) {
		for _, file := range files {
			if m := manifestOf(t, file); m["scripts"] != nil || m["dependencies"] != nil {
				t.Errorf("%s: %v", file, m)
			}
		}
	})
	t.Run("each is for one system and processor", func(t *testing.T) {
		for i, p := range platforms {
			m := manifestOf(t, files[i+1])
			if diff := cmp.Diff([]any{m["name"], m["os"], m["cpu"]}, []any{p.name(), []any{p.os}, []any{p.cpu}}); diff != "" {
				t.Error(diff)
			}
		}
	})
	t.Run("the same input gives the same bytes", func(t *testing.T) {
		for i, other := range fake(t, "") {
			a, err := os.ReadFile(files[i])
			expect.Nil(t, "reading the first tarball", err)
			b, err := os.ReadFile(other)
			expect.Nil(t, "reading the second tarball", err)
			expect.True(t, filepath.Base(other)+" with the same bytes both times", bytes.Equal(a, b))
		}
	})
	t.Run("only one platform", func(t *testing.T) {
		files := fake(t, "windows/arm64")
		expect.Equal(expect.Now(t), "the number of tarballs", len(files), 2)
		expect.Equal(t, "the tarball of the platform", filepath.Base(files[1]), "understudy-mock-win32-arm64-1.2.3.tgz")
	})
	t.Run("an unknown platform is refused", func(t *testing.T) {
		if _, err := build(&order{root, t.TempDir(), t.TempDir(), "1.2.3", "plan9/amd64"}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a missing binary is refused", func(t *testing.T) {
		if _, err := build(&order{root, t.TempDir(), t.TempDir(), "1.2.3", ""}); err == nil {
			t.Error("no error")
		}
	})
}

// The output of `git describe` becomes a version that npm accepts.
func TestVersions(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	for given, want := range map[string]string{
		"1.2.3":               "1.2.3",
		"v1.2.3":              "1.2.3",
		"v1.2.3-4-gabcdef0":   "1.2.3-4-gabcdef0",
		"v1.2.3-rc.1":         "1.2.3-rc.1",
		"0123456":             "0.0.0-dev.g0123456",
		"8e7ed18-dirty":       "0.0.0-dev.g8e7ed18-dirty",
		"devel":               "0.0.0-dev.gdevel",
		"":                    "0.0.0-dev.g",
		"feature/x":           "0.0.0-dev.gfeature-x",
		"v1.2.3-4-gabc-dirty": "1.2.3-4-gabc-dirty",
		"1.2":                 "0.0.0-dev.g1-2",
	} {
		if got := semver(given); got != want || !valid.MatchString(got) {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
