package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// statement is a statement about an image, in the format of in-toto.
type statement struct {
	Type      string    `json:"_type"`
	Predicate string    `json:"predicateType"`
	Subject   []subject `json:"subject"`
	Content   any       `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// The predicates of an image: its bill of materials, and where it comes from.
const (
	billPredicate       = "https://cyclonedx.org/bom"
	provenancePredicate = "https://slsa.dev/provenance/v1"
)

// attestation is the entry of an index that describes an image: its bill of materials and its
// provenance, without a signature. A registry keeps it with the image, and BuildKit's tools
// show it.
func (r *recipe) attestation(o *options, arch string, image v1.Image) (mutate.IndexAddendum, error) {
	var entry mutate.IndexAddendum
	digest, err := image.Digest()
	if err != nil {
		return entry, err
	}
	bill, err := os.ReadFile(filepath.Join(o.dist, r.binaries[0]+"-linux-"+arch+".cdx.json"))
	if err != nil {
		return entry, fmt.Errorf("%w: build the archives first", err)
	}
	about := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, s := range []statement{{Predicate: billPredicate, Content: json.RawMessage(bill)}, {Predicate: provenancePredicate, Content: o.provenance()}} {
		s.Type, s.Subject = "https://in-toto.io/Statement/v1", []subject{{o.version + r.suffix, map[string]string{digest.Algorithm: digest.Hex}}}
		text, err := json.Marshal(s)
		if err != nil {
			return entry, err
		}
		layer := static.NewLayer(text, "application/vnd.in-toto+json")
		if about, err = mutate.Append(about, mutate.Addendum{Layer: layer, Annotations: map[string]string{"in-toto.io/predicate-type": s.Predicate}}); err != nil {
			return entry, err
		}
	}
	config, err := about.ConfigFile()
	if err != nil {
		return entry, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "unknown", "unknown" // no platform runs it
	if about, err = mutate.ConfigFile(about, config); err != nil {
		return entry, err
	}
	entry.Add = about
	entry.Descriptor = v1.Descriptor{
		Platform:    config.Platform(),
		Annotations: map[string]string{"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": digest.String()},
	}
	return entry, nil
}

// provenance describes the build. It names no machine and no time, so that the same source
// gives the same bytes; the signed provenance of the workflow does.
func (o *options) provenance() any {
	return map[string]any{
		"buildDefinition": map[string]any{
			"buildType":          source + "/blob/main/packaging/oci",
			"externalParameters": map[string]string{"version": o.version},
			"resolvedDependencies": []any{map[string]any{
				"uri": "git+" + source, "digest": map[string]string{"gitCommit": o.revision},
			}},
		},
		"runDetails": map[string]any{"builder": map[string]string{"id": source + "/blob/main/.github/workflows/release.yml"}},
	}
}

// pushAll pushes the indexes of the layout, and prints each tag with its digest.
func (o *options) pushAll(out io.Writer) error {
	top, err := layout.ImageIndexFromPath(filepath.Join(o.out, "layout"))
	if err != nil {
		return err
	}
	tags, err := top.IndexManifest()
	if err != nil {
		return err
	}
	for i, r := range recipes {
		index, err := top.ImageIndex(tags.Manifests[i].Digest)
		if err != nil {
			return err
		}
		names := []string{o.version + r.suffix}
		if o.latest {
			names = append(names, "latest"+r.suffix)
		}
		for _, n := range names {
			tag, err := name.NewTag(o.push + ":" + n)
			if err != nil {
				return err
			}
			if err := remote.WriteIndex(tag, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(out, "pushed %s@%s\n", tag, tags.Manifests[i].Digest) // there may be no reader
		}
	}
	return nil
}
