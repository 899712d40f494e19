package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
)

// bill is a bill of materials: the used parts of CycloneDX 1.6.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Licenses   []licensed `json:"licenses,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type licensed struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// bill lists the modules in a program, as `go version -m` does: the standard library and each
// linked module, with its checksum from go.sum.
func (o *options) bill(program string, p platform, binary []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, err
	}
	subject := module("application", debug.Module{Path: info.Path, Version: o.version})
	subject.Name, subject.Hashes = program, []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(binary))}}
	subject.Properties = []property{{"platform", p.String()}}
	subject.Licenses = asLicenses("Apache-2.0")
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{subject}}
	for _, m := range linked(info) {
		c := module("library", m)
		c.Licenses = asLicenses(o.licenses[m.Path].kinds...)
		b.Components = append(b.Components, c)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

func asLicenses(kinds ...string) (list []licensed) {
	for _, kind := range kinds {
		var l licensed
		l.License.ID = kind
		list = append(list, l)
	}
	return list
}

// module returns a module as a component. The form of its package URL is that of
// https://github.com/package-url/purl-spec.
func module(kind string, m debug.Module) component {
	purl := "pkg:golang/" + strings.ToLower(m.Path) + "@" + url.QueryEscape(m.Version)
	c := component{Ref: purl, Type: kind, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
