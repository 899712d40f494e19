package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestRelease pushes the images of a release as the workflow does, and pulls them for each
// platform.
func TestRelease(t *testing.T) {
	t.Parallel()
	dist, version := os.Getenv("RELEASE"), strings.TrimPrefix(os.Getenv("RELEASE_VERSION"), "v")
	if dist == "" || version == "" {
		t.Skip("RELEASE is not set: make release-check VERSION=v1.2.3")
	}
	repository := local(t)
	publish := exec.CommandContext(t.Context(), "../publish.sh", "image", dist, "v"+version)
	publish.Env = append(os.Environ(), "REPOSITORY="+repository, "DOCKER_CONFIG="+t.TempDir())
	said, err := publish.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	head, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	revision := strings.TrimSpace(string(head))
	for _, r := range recipes {
		tag := repository + ":" + version + r.suffix
		t.Run(version+r.suffix+" has a bill of materials and a provenance", func(t *testing.T) {
			t.Parallel()
			checkAttestations(t, pulled(t, tag), revision)
		})
		t.Run(version+r.suffix+" is printed with its digest", func(t *testing.T) {
			t.Parallel()
			digest, err := pulled(t, tag).Digest()
			if want := "pushed " + tag + "@" + digest.String(); err != nil || !strings.Contains(string(said), want) {
				t.Errorf("printed %s, %v, want %s", said, err, want)
			}
		})
		for _, arch := range architectures {
			t.Run(version+r.suffix+" for "+arch, func(t *testing.T) {
				t.Parallel()
				checkPulled(t, tag, arch, r.binaries[0], map[string]string{
					"org.opencontainers.image.version": version, "org.opencontainers.image.revision": revision, "org.opencontainers.image.source": source,
				})
			})
		}
	}
	t.Run("skopeo copies all of it", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("skopeo"); err != nil {
			t.Skip("skopeo is not installed")
		}
		copied, err := exec.CommandContext(t.Context(), "skopeo", "copy", "--insecure-policy", "--all", "--src-tls-verify=false", "docker://"+repository+":"+version, "oci:"+t.TempDir()+":copy").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, copied)
		}
	})
}

// checkPulled pulls an image as a machine of an architecture does. Its program must be for
// this architecture, and its labels those of the release.
func checkPulled(t *testing.T, reference, arch, program string, labels map[string]string) {
	t.Helper()
	tag, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(tag, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range labels {
		if got := config.Config.Labels[label]; got != want {
			t.Errorf("%s: got %q, want %q", label, got, want)
		}
	}
	if got := config.Config.Labels["org.opencontainers.image.created"]; got == "" || strings.HasPrefix(got, "1970-") {
		t.Errorf("created: got %q, want the time of the commit", got)
	}
	root, _ := unpack(t, image)
	f, err := elf.Open(filepath.Join(root, "usr/local/bin", program))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; f.Machine != want {
		t.Errorf("%s is for %v, want %v", program, f.Machine, want)
	}
	if text, err := os.ReadFile(filepath.Join(root, "usr/share/doc/understudy/NOTICE")); err != nil || len(text) < 10_000 {
		t.Errorf("NOTICE: got %d bytes, %v", len(text), err)
	}
}
