package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	repository = "ghcr.io/understudy-mock/understudy"
	source     = "https://github.com/understudy-mock/understudy"
	binaries   = "/usr/local/bin" // folder of the programs in the image
	nonroot    = 65532            // user and group of the process, as in distroless images
)

// architectures are the architectures of the images. Sorted.
var architectures = []string{"amd64", "arm64"}

// recipe is one image: a tag, the binaries in it, and how it starts.
type recipe struct {
	suffix     string // of the tag
	title      string
	binaries   []string // the first is the entrypoint
	command    []string // default arguments
	env        []string
	ports      []string
	healthTest []string
}

// recipes are the images. The suite has a separate one: both programs in one image exceed
// maxImage.
var recipes = []recipe{
	{
		title:    "Understudy: a local server for QStash and Workflow applications",
		binaries: []string{"understudy"},
		command:  []string{"serve"},
		// In a container, no other machine reaches loopback. Variables stay in effect when
		// the arguments are replaced.
		env:        []string{"UNDERSTUDY_ADDR=:8080", "TMPDIR=/tmp"},
		ports:      []string{"8080/tcp"},
		healthTest: []string{"CMD", binaries + "/understudy", "healthcheck"},
	},
	{
		suffix:   "-conform",
		title:    "Understudy: a contract test suite for the interface of QStash and Workflow",
		binaries: []string{"understudy-conform"},
		command:  []string{"conform", "--target", "conformance.yaml"}, // in the working folder
		env:      []string{"TMPDIR=/tmp"},
	},
}

// image builds a recipe for one platform.
func (r *recipe) image(o *options, arch string) (v1.Image, error) {
	files, err := baseFiles()
	if err != nil {
		return nil, err
	}
	for _, text := range [][2]string{{"../../LICENSE", "LICENSE"}, {filepath.Join(o.dist, "NOTICE"), "NOTICE"}} {
		content, err := os.ReadFile(text[0])
		if err != nil {
			return nil, fmt.Errorf("%w: build the binaries first", err)
		}
		files = append(files, file{path: "usr/share/doc/understudy/" + text[1], mode: 0o644, content: content})
	}
	base, err := newLayer(files)
	if err != nil {
		return nil, err
	}
	layers := []v1.Layer{base}
	for _, binary := range r.binaries {
		content, err := os.ReadFile(filepath.Join(o.dist, "linux-"+arch, binary))
		if err != nil {
			return nil, fmt.Errorf("%w: build the binaries first", err)
		}
		layer, err := newLayer([]file{{path: "usr/local/bin/" + binary, mode: 0o755, content: content}})
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layers...); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: created()}
	config.Config = r.config(o)
	return mutate.ConfigFile(image, config)
}

// config is the configuration with which an engine starts a container.
func (r *recipe) config(o *options) v1.Config {
	config := v1.Config{
		User:       fmt.Sprintf("%d:%d", nonroot, nonroot),
		WorkingDir: "/data",
		Entrypoint: []string{binaries + "/" + r.binaries[0]},
		Cmd:        r.command,
		StopSignal: "SIGTERM",
		Env:        append([]string{"PATH=" + binaries, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"}, r.env...),
		Labels: map[string]string{
			"org.opencontainers.image.title":    r.title,
			"org.opencontainers.image.version":  o.version,
			"org.opencontainers.image.revision": o.revision,
			"org.opencontainers.image.created":  created().Format(time.RFC3339),
			"org.opencontainers.image.source":   source,
			"org.opencontainers.image.url":      source,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	for _, port := range r.ports {
		config.ExposedPorts = map[string]struct{}{port: {}}
	}
	if r.healthTest != nil { // Docker and Podman read it; the OCI specification does not have this field
		config.Healthcheck = &v1.HealthConfig{
			Test: r.healthTest, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 5 * time.Second, Retries: 3,
		}
	}
	return config
}

// created is the time in the image: SOURCE_DATE_EPOCH, or 1970 without it.
func created() time.Time {
	var seconds int64
	if _, err := fmt.Sscan(os.Getenv("SOURCE_DATE_EPOCH"), &seconds); err != nil {
		seconds = 0
	}
	return time.Unix(seconds, 0).UTC()
}

// file is an entry of a layer. A path that ends in a slash is a folder.
type file struct {
	path    string
	mode    int64
	owner   int
	content []byte
}

// baseFiles are the files that a process needs besides its program: the name of its user,
// folders for data and for temporary files, and the root certificates for deliveries to https
// destinations.
func baseFiles() ([]file, error) {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a constraint is code, which a PEM file cannot contain
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return []file{
		{path: "data/", mode: 0o755, owner: nonroot},
		{path: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", nonroot)},
		{path: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/data:/sbin/nologin\n", nonroot, nonroot)},
		{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: roots.Bytes()},
		{path: "tmp/", mode: 0o1777},
	}, nil
}

// newLayer packs files and their parent folders, with the same bytes every time.
func newLayer(files []file) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	written := map[string]bool{}
	for _, f := range files {
		for _, entry := range append(leading(f.path), f) {
			if written[entry.path] {
				continue
			}
			written[entry.path] = true
			header := &tar.Header{
				Name: entry.path, Mode: entry.mode, Uid: entry.owner, Gid: entry.owner,
				Size: int64(len(entry.content)), ModTime: created(), Format: tar.FormatUSTAR, Typeflag: tar.TypeReg,
			}
			if strings.HasSuffix(entry.path, "/") {
				header.Typeflag = tar.TypeDir
			}
			if err := w.WriteHeader(header); err != nil {
				return nil, err
			}
			if _, err := w.Write(entry.content); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithMediaType(types.OCILayer))
}

// leading returns the folders above a path, the outermost first.
func leading(path string) (folders []file) {
	for i, c := range strings.TrimSuffix(path, "/") {
		if c == '/' {
			folders = append(folders, file{path: path[:i+1], mode: 0o755})
		}
	}
	return folders
}

// writeDocker writes an archive for `docker load`.
func writeDocker(path, tag string, image v1.Image) error {
	reference, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("version: %w", err)
	}
	return tarball.WriteToFile(path, reference, image)
}
