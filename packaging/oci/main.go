// Command oci builds the container images from the programs of a release:
//
//	go run . --dist ../../dist --version 1.0.0 --out ../../dist/image
//
// It writes
//
//	OUT/layout/                              an OCI layout with one index per image, each for every platform
//	OUT/understudy-1.0.0-linux-amd64.tar     for `docker load`, one per image and platform
//
// Each index also has the bill of materials and the provenance of its images, in the form of
// BuildKit. The same programs and version give the same bytes. It needs no container engine.
//
//	go run . --push ghcr.io/understudy-mock/understudy --latest --version 1.0.0 --out ../../dist/image
//
// pushes the images of a layout, with the credentials of `docker login`, and prints their
// digests.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// maxImage is the largest compressed size of an image on one platform, in bytes: the largest
// program that package build allows, and the certificates.
const maxImage = 17_000_000

// referenceName is the annotation with the tag of an image in a layout.
const referenceName = "org.opencontainers.image.ref.name"

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	dist, version, out string
	revision           string // commit
	push               string // repository; "": nowhere
	latest             bool
}

func run(args []string, out, errs io.Writer) error {
	var o options
	flags := flag.NewFlagSet("oci", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.dist, "dist", "", "`folder` with the binaries in linux-amd64 and linux-arm64")
	flags.StringVar(&o.version, "version", "", "version, the tag of the images")
	flags.StringVar(&o.out, "out", "", "`folder` to write to")
	flags.StringVar(&o.revision, "revision", "", "`commit` of the source")
	flags.StringVar(&o.push, "push", "", "`repository` to push to")
	flags.BoolVar(&o.latest, "latest", false, "push the tags latest and latest-conform as well")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.dist == "" && o.push == "" || o.version == "" || o.out == "" || flags.NArg() > 0 {
		return fmt.Errorf("usage: oci --dist FOLDER --version VERSION --out FOLDER")
	}
	if o.push != "" {
		return o.pushAll(out)
	}
	return write(o, out)
}

// write builds every image and prints one line for each file and tag.
func write(o options, out io.Writer) error {
	folder := filepath.Join(o.out, "layout")
	if err := os.RemoveAll(folder); err != nil { // it may have blobs of another version
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // others read it
		return err
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	for _, r := range recipes {
		tag := o.version + r.suffix
		index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		for _, arch := range architectures {
			image, err := r.image(&o, arch)
			if err != nil {
				return err
			}
			size, err := compressed(image)
			if err != nil {
				return err
			}
			if size > maxImage {
				return fmt.Errorf("image %s for linux/%s: %d bytes: must be at most %d", tag, arch, size, maxImage)
			}
			about, err := r.attestation(&o, arch, image)
			if err != nil {
				return err
			}
			index = mutate.AppendManifests(index, mutate.IndexAddendum{
				Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
			}, about)
			file := filepath.Join(o.out, fmt.Sprintf("understudy%s-%s-linux-%s.tar", r.suffix, o.version, arch))
			if err := writeDocker(file, repository+":"+tag, image); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(out, "%s  %s:%s  %.1f MB\n", file, repository, tag, float64(size)/1e6)
		}
		if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{referenceName: tag})); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "%s  %s:%s  %d platforms\n", folder, repository, tag, len(architectures)) // there may be no reader
	}
	return nil
}

// compressed is the download size of an image, in bytes.
func compressed(image v1.Image) (int64, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return 0, err
	}
	size := manifest.Config.Size
	for _, l := range manifest.Layers {
		size += l.Size
	}
	return size, nil
}
