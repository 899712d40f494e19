package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// SpecCmd prints the OpenAPI document.
type SpecCmd struct {
	Format  string `default:"yaml" enum:"yaml,json" help:"yaml or json."`
	Dialect string `default:"svc" help:"Naming: svc, upstash, or a YAML file."`
	Control bool   `help:"The document of the control API instead."`
}

// Run prints it.
func (c *SpecCmd) Run(e *env) error {
	load := spec.Load
	if c.Control {
		load = spec.LoadControl
	}
	doc, err := load()
	if err != nil {
		return err
	}
	dialect, err := spec.LoadDialect(c.Dialect)
	if err != nil {
		return usage("--dialect: %w", err)
	}
	text := doc.YAML()
	if c.Format == "json" {
		compact, err := doc.JSON()
		if err != nil {
			return err
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, compact, "", "  "); err != nil {
			return err
		}
		text = append(pretty.Bytes(), '\n')
	}
	_, err = e.out.Write(dialect.BrandText(text))
	return err
}

// VersionCmd prints the version.
type VersionCmd struct{}

// Run prints it.
func (*VersionCmd) Run(e *env) error {
	_, err := fmt.Fprintln(e.out, "understudy", mockserver.Version)
	return err
}
