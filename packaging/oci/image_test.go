package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// pretended is a folder with small files instead of programs.
func pretended(t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	put(t, filepath.Join(dist, "NOTICE"), []byte("pretended licences"))
	for _, arch := range architectures {
		for _, r := range recipes {
			for _, binary := range r.binaries {
				put(t, filepath.Join(dist, "linux-"+arch, binary), []byte("pretended "+binary+" for "+arch))
			}
			put(t, filepath.Join(dist, r.binaries[0]+"-linux-"+arch+".cdx.json"), []byte(`{"bomFormat":"CycloneDX"}`))
		}
	}
	return dist
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// made builds the images from a folder of programs and returns the output folder.
func made(t *testing.T, dist string) string {
	t.Helper()
	out := t.TempDir()
	if err := run([]string{"--dist", dist, "--version", "0.0.1", "--revision", "abc123", "--out", out}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	return out
}

// images returns the images in a layout by tag and architecture, such as 0.0.1 amd64.
func images(t *testing.T, out string) map[string]v1.Image {
	t.Helper()
	top, err := layout.ImageIndexFromPath(filepath.Join(out, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	tags, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]v1.Image{}
	for _, tag := range tags.Manifests {
		index, err := top.ImageIndex(tag.Digest)
		if err != nil {
			t.Fatal(err)
		}
		platforms, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range platforms.Manifests {
			if p.Platform.OS == "unknown" {
				continue // an attestation
			}
			image, err := index.Image(p.Digest)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Image(image); err != nil {
				t.Errorf("%s: %v", tag.Annotations[referenceName], err)
			}
			found[tag.Annotations[referenceName]+" "+p.Platform.String()] = image
		}
	}
	return found
}

// sums are the digests of the files below a folder.
func sums(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		found[strings.TrimPrefix(path, folder)] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestLayout(t *testing.T) {
	t.Parallel()
	dist := pretended(t)
	out := made(t, dist)
	found := images(t, out)

	t.Run("each recipe has an image for each platform", func(t *testing.T) {
		t.Parallel()
		if got, want := len(found), len(recipes)*len(architectures); got != want {
			t.Errorf("got %d images, want %d", got, want)
		}
		for _, r := range recipes {
			for _, arch := range architectures {
				if found["0.0.1"+r.suffix+" linux/"+arch] == nil {
					t.Errorf("no image 0.0.1%s for %s: %v", r.suffix, arch, found)
				}
			}
		}
	})
	t.Run("the configuration of the stand-in's image", func(t *testing.T) {
		t.Parallel()
		config, err := found["0.0.1 linux/arm64"].ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(config.Config)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`"User":"65532:65532"`, `"WorkingDir":"/data"`, `"Entrypoint":["/usr/local/bin/understudy"]`, `"Cmd":["serve"]`, `"StopSignal":"SIGTERM"`,
			`"ExposedPorts":{"8080/tcp":{}}`, `"Test":["CMD","/usr/local/bin/understudy","healthcheck"]`, `"UNDERSTUDY_ADDR=:8080"`,
			`"org.opencontainers.image.version":"0.0.1"`, `"org.opencontainers.image.revision":"abc123"`,
			`"org.opencontainers.image.created":"` + created().Format(time.RFC3339) + `"`, `"org.opencontainers.image.source":"https://github.com/`, `"org.opencontainers.image.licenses":"Apache-2.0"`,
		} {
			if !bytes.Contains(got, []byte(want)) {
				t.Errorf("%s is missing in %s", want, got)
			}
		}
		if config.Architecture != "arm64" || config.OS != "linux" {
			t.Errorf("platform %s/%s", config.OS, config.Architecture)
		}
	})
	t.Run("the same binaries give the same bytes", func(t *testing.T) {
		t.Parallel()
		first, second := sums(t, out), sums(t, made(t, dist))
		for path, sum := range first {
			if second[path] != sum {
				t.Errorf("%s differs", path)
			}
		}
		if len(first) != len(second) || len(first) == 0 {
			t.Errorf("%d and %d files", len(first), len(second))
		}
	})
	t.Run("nothing of another version remains", func(t *testing.T) {
		t.Parallel()
		again := made(t, dist)
		if err := run([]string{"--dist", dist, "--version", "0.0.2", "--out", again}, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		if found := images(t, again); found["0.0.1 linux/amd64"] != nil || found["0.0.2 linux/amd64"] == nil {
			t.Errorf("images %v", found)
		}
	})
}

func TestDockerLoad(t *testing.T) {
	t.Parallel()
	out := made(t, pretended(t))
	file := filepath.Join(out, "understudy-0.0.1-linux-amd64.tar")
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) })
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || strings.Join(manifest[0].RepoTags, " ") != "ghcr.io/understudy-mock/understudy:0.0.1" {
		t.Errorf("manifest %+v", manifest)
	}
	loaded, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := loaded.ConfigName()
	if err != nil {
		t.Errorf("the configuration of the archive: got %v, want no error", err)
	}
	want, err := images(t, out)["0.0.1 linux/amd64"].ConfigName()
	if err != nil {
		t.Errorf("the configuration of the image: got %v, want no error", err)
	}
	if got != want {
		t.Errorf("the configuration: got %v, want %v", got, want)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	root, owners := unpack(t, images(t, made(t, pretended(t)))["0.0.1 linux/amd64"])

	t.Run("the process owns its folder and nothing else", func(t *testing.T) {
		t.Parallel()
		for path, owner := range owners {
			if want := map[bool]int{true: nonroot}[path == "data"]; owner != want {
				t.Errorf("%s belongs to %d, want %d", path, owner, want)
			}
		}
	})
	t.Run("the licences of what the image contains", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]string{"LICENSE": "Apache License", "NOTICE": "pretended licences"} {
			text, err := os.ReadFile(filepath.Join(root, "usr/share/doc/understudy", name))
			if err != nil || !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s: got %.80q, %v, want %q", name, text, err, want)
			}
		}
	})
	t.Run("all users may write temporary files", func(t *testing.T) {
		t.Parallel()
		info, err := os.Stat(filepath.Join(root, "tmp"))
		if err != nil {
			t.Fatal(err)
		}
		if want := fs.ModeDir | fs.ModeSticky | 0o777; info.Mode() != want {
			t.Errorf("mode %v, want %v", info.Mode(), want)
		}
	})
	t.Run("certificates for deliveries to https destinations", func(t *testing.T) {
		t.Parallel()
		text, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
		if err != nil {
			t.Fatal(err)
		}
		if roots := x509.NewCertPool(); !roots.AppendCertsFromPEM(text) || bytes.Count(text, []byte("BEGIN CERTIFICATE")) < 100 {
			t.Errorf("%d certificates", bytes.Count(text, []byte("BEGIN CERTIFICATE")))
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args func(t *testing.T) []string
		want string
	}{
		{"a flag is missing", func(*testing.T) []string { return []string{"--version", "1"} }, "usage: oci --dist FOLDER"},
		{"a binary is missing", func(t *testing.T) []string {
			return []string{"--dist", t.TempDir(), "--version", "1", "--out", t.TempDir()}
		}, "build the binaries first"},
		{"a version is no tag", func(t *testing.T) []string {
			return []string{"--dist", pretended(t), "--version", "1 2", "--out", t.TempDir()}
		}, "version: "},
		{"an image is too large", func(t *testing.T) []string {
			dist := pretended(t)
			put(t, filepath.Join(dist, "linux-amd64", "understudy"), incompressible(maxImage))
			return []string{"--dist", dist, "--version", "1", "--out", t.TempDir()}
		}, fmt.Sprintf("must be at most %d", maxImage)},
		{"a bill of materials is missing", func(t *testing.T) []string {
			dist := pretended(t)
			if err := os.Remove(filepath.Join(dist, "understudy-linux-arm64.cdx.json")); err != nil {
				t.Fatal(err)
			}
			return []string{"--dist", dist, "--version", "1", "--out", t.TempDir()}
		}, "build the archives first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := run(c.args(t), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
