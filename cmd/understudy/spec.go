package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// SpecCmd prints the OpenAPI document, or a JSON Schema.
type SpecCmd struct {
	Format  string `default:"yaml" enum:"yaml,json" help:"yaml or json."`
	Dialect string `default:"svc" help:"Naming: svc, upstash, or a YAML file."`
	Control bool   `xor:"document" help:"Print the document of the control API instead."`
	Schema  string `xor:"document" placeholder:"NAME" help:"Print a JSON Schema instead, for editors: config, dialect, fixture, plugin, report, stubs or target."`
}

// Run prints the document or the schema.
func (c *SpecCmd) Run(e *env) error {
	if c.Schema != "" {
		text, err := schemaNamed(c.Schema)
		if err != nil {
			return err
		}
		_, err = e.out.Write(text)
		return err
	}
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
		return usageError("--dialect: %w", err)
	}
	text := doc.YAML()
	if c.Format == "json" {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, doc.JSON(), "", "  "); err != nil {
			return err
		}
		text = append(pretty.Bytes(), '\n')
	}
	_, err = e.out.Write(dialect.BrandText(text))
	return err
}

// VersionCmd prints the versions of both programs.
type VersionCmd struct {
	Output string `short:"o" default:"text" enum:"text,json" env:"-" help:"Format: text or json."`
}

// Run prints both versions, and warns when they differ.
func (c *VersionCmd) Run(e *env) error {
	other := "" // not installed
	if path, err := command.Sibling(suiteProgram); err == nil {
		text, err := exec.CommandContext(e.ctx, path, "--version").Output()
		if err != nil {
			return fmt.Errorf("%s --version: %w", path, err)
		}
		_, other, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
		if warning := command.OtherVersion(mockserver.Version, suiteProgram, other); warning != "" {
			_, _ = fmt.Fprintln(e.err, warning)
		}
	}
	if c.Output == "json" {
		return e.printJSON(map[string]string{"understudy": mockserver.Version, suiteProgram: other})
	}
	_, err := fmt.Fprintf(e.out, "understudy %s\n%s %s\n", mockserver.Version, suiteProgram, cmp.Or(other, "is not installed"))
	return err
}

// printJSON prints a value as indented JSON.
func (e *env) printJSON(v any) error {
	to := json.NewEncoder(e.out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	return to.Encode(v)
}
