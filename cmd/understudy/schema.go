package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec"
)

// fileSchemas are the JSON Schemas of the files that users write, by name for --schema.
var fileSchemas = map[string]func() ([]byte, error){
	"config":  configSchema,
	"dialect": func() ([]byte, error) { return spec.DialectSchema, nil },
	"fixture": func() ([]byte, error) { return spec.FixtureSchema, nil },
	"plugin":  func() ([]byte, error) { return spec.PluginSchema, nil },
	"report":  func() ([]byte, error) { return spec.ReportSchema, nil },
	"stubs":   spec.StubsSchema,
	"target":  func() ([]byte, error) { return spec.TargetSchema, nil },
}

// schemaNamed is a schema of fileSchemas, or an error that lists their names.
func schemaNamed(name string) ([]byte, error) {
	schema := fileSchemas[name]
	if schema == nil {
		return nil, usageError("--schema: invalid value %q: must be one of %s", name, strings.Join(slices.Sorted(maps.Keys(fileSchemas)), ", "))
	}
	return schema()
}

// valueSchema is the part of JSON Schema that describes a flag.
type valueSchema struct {
	Type        any          `json:"type,omitempty"`
	Description string       `json:"description,omitempty"`
	Enum        []string     `json:"enum,omitempty"`
	Minimum     *int         `json:"minimum,omitempty"`
	Pattern     string       `json:"pattern,omitempty"`
	Items       *valueSchema `json:"items,omitempty"`
	AnyOf       []any        `json:"anyOf,omitempty"`
	Values      any          `json:"additionalProperties,omitempty"`
	Default     string       `json:"x-default,omitempty"`
}

// configSchema is the JSON Schema of the file of `serve --config`. Its keys are the flags of
// serve, which `run` also has.
func configSchema() ([]byte, error) {
	k, err := kong.New(&struct {
		globalFlags
		serveCommand
	}{}, kong.Name("understudy"), kong.DefaultEnvars("UNDERSTUDY"), kong.Vars{"version": ""})
	if err != nil {
		return nil, fmt.Errorf("schema of the configuration: %w", err)
	}
	node, _ := command.Find(k.Model.Node, []string{"serve"})
	properties := map[string]valueSchema{}
	for _, group := range node.AllFlags(false) {
		for _, flag := range group {
			if command.IsSetting(flag.Name) {
				properties[flag.Name] = flagSchema(flag)
			}
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "Configuration",
		"description":          "The file of `understudy serve --config`: the flags of serve as keys. The environment and the command line win over it",
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema of the configuration: %w", err)
	}
	return append(text, '\n'), nil
}

// flagSchema describes the value of a flag by the type of its field.
func flagSchema(flag *kong.Flag) valueSchema {
	into := flag.Target.Type()
	s, special := flagTexts[flag.Name]
	if !special {
		s = scalarSchema(into)
	}
	if flag.Enum != "" {
		s.Type, s.Enum = "string", flag.EnumSlice()
	}
	switch into.Kind() {
	case reflect.Slice:
		one := s
		s = valueSchema{AnyOf: []any{one, valueSchema{Type: "array", Items: &one}}}
	case reflect.Map:
		s = valueSchema{Type: "object", Values: scalarSchema(into.Elem())}
	}
	s.Description = flag.Help
	if flag.HasDefault {
		s.Default = flag.Default
	}
	return s
}

var sizeTexts = valueSchema{Type: []string{"string", "integer"}, Minimum: new(1), Pattern: `^[1-9][0-9]*(B|KiB|MiB|GiB)?$`}

// flagTexts are the values of flags that the parser reads as strings and serve checks.
var flagTexts = map[string]valueSchema{
	"clock":       {Type: "string", Enum: []string{"real", "manual", "auto"}},
	"log-level":   {Type: "string", Enum: []string{"debug", "info", "warn", "error"}},
	"max-answer":  sizeTexts,
	"max-backlog": sizeTexts,
	"max-body":    sizeTexts,
	"memory":      sizeTexts,
}

// scalarSchema describes one value. A string may be written as a number: 8080.
func scalarSchema(t reflect.Type) valueSchema {
	zero := 0
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return valueSchema{Type: "string", Pattern: `^-?([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+$|^0$`}
	case t == reflect.TypeFor[dataPlace]():
		return valueSchema{Type: []string{"string", "number"}, Pattern: `\S`}
	case t.Kind() == reflect.Bool:
		return valueSchema{Type: "boolean"}
	case t.Kind() == reflect.Int:
		return valueSchema{Type: "integer"}
	case t.Kind() == reflect.Uint64:
		return valueSchema{Type: "integer", Minimum: &zero}
	case t.Kind() == reflect.Float64:
		return valueSchema{Type: "number"}
	}
	return valueSchema{Type: []string{"string", "number"}}
}
