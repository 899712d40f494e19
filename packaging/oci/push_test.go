package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// pushed pushes the images of a folder of programs to a registry in this process, and returns
// the name of the repository there.
func pushed(t *testing.T, dist string, more ...string) string {
	t.Helper()
	repository := local(t)
	if err := run(append([]string{"--version", "0.0.1", "--out", made(t, dist), "--push", repository}, more...), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	return repository
}

// local is a repository in a registry in this process.
func local(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/understudy-mock/understudy"
}

// pulled is an index as a client gets it.
func pulled(t *testing.T, reference string) v1.ImageIndex {
	t.Helper()
	tag, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestPush(t *testing.T) {
	t.Parallel()
	repository := pushed(t, pretended(t), "--latest")
	t.Run("each tag is in the registry", func(t *testing.T) {
		t.Parallel()
		for _, tag := range []string{"0.0.1", "0.0.1-conform"} {
			one, err := pulled(t, repository+":"+tag).Digest()
			if err != nil {
				t.Fatal(err)
			}
			other, err := pulled(t, repository+":"+strings.Replace(tag, "0.0.1", "latest", 1)).Digest()
			if err != nil || one != other {
				t.Errorf("latest of %s: got %v, %v, want %v", tag, other, err, one)
			}
		}
	})
	t.Run("a prerelease does not become the latest", func(t *testing.T) {
		t.Parallel()
		tag, err := name.ParseReference(pushed(t, pretended(t)) + ":latest")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Get(tag); err == nil {
			t.Error("the registry has the tag latest")
		}
	})
	t.Run("a client gets the image of its platform", func(t *testing.T) {
		t.Parallel()
		for _, arch := range architectures {
			tag, err := name.ParseReference(repository + ":0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			image, err := remote.Image(tag, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
			if err != nil {
				t.Fatal(err)
			}
			config, err := image.ConfigFile()
			if err != nil || config.Architecture != arch {
				t.Errorf("got the architecture %v, %v, want %s", config, err, arch)
			}
		}
	})
}

// Each image has a bill of materials and a provenance that name its digest.
func TestAttestations(t *testing.T) {
	t.Parallel()
	checkAttestations(t, pulled(t, pushed(t, pretended(t))+":0.0.1"), "abc123")
}

func checkAttestations(t *testing.T, index v1.ImageIndex, revision string) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	images, described := map[string]bool{}, map[string]bool{} // by digest; by digest and predicate
	for _, d := range manifest.Manifests {
		if d.Platform.OS != "unknown" {
			images[d.Digest.String()] = true
			continue
		}
		about, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		of := d.Annotations["vnd.docker.reference.digest"]
		for predicate, s := range statements(t, about) {
			if s.Subject[0].Digest["sha256"] != strings.TrimPrefix(of, "sha256:") {
				t.Errorf("%s: the subject: got %v, want %s", predicate, s.Subject, of)
			}
			content, err := json.Marshal(s.Content)
			want := map[string]string{billPredicate: `"bomFormat":"CycloneDX"`, provenancePredicate: `"gitCommit":"` + revision + `"`}[predicate]
			if err != nil || !strings.Contains(string(content), want) {
				t.Errorf("%s: got %.200s, %v, want %s", predicate, content, err, want)
			}
			described[of+" "+predicate] = true
		}
	}
	if len(images) != len(architectures) {
		t.Errorf("got %d images, want %d", len(images), len(architectures))
	}
	for digest := range images {
		if !described[digest+" "+billPredicate] || !described[digest+" "+provenancePredicate] {
			t.Errorf("%s is not described: %v", digest, described)
		}
	}
}

// statements are the statements in an entry of an index, by their predicates.
func statements(t *testing.T, about v1.Image) map[string]statement {
	t.Helper()
	manifest, err := about.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]statement{}
	for _, l := range manifest.Layers {
		layer, err := about.LayerByDigest(l.Digest)
		if err != nil {
			t.Fatal(err)
		}
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		var s statement
		if err := json.NewDecoder(content).Decode(&s); err != nil {
			t.Fatal(err)
		}
		if l.Annotations["in-toto.io/predicate-type"] != s.Predicate {
			t.Errorf("the annotation: got %v, want %s", l.Annotations, s.Predicate)
		}
		found[s.Predicate] = s
	}
	return found
}
