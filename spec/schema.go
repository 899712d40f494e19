package spec

import (
	_ "embed" // the schemas
	"encoding/json"
	"fmt"
	"strings"
)

// FixtureSchema is the JSON Schema (2020-12) of a fixture file. Its keyword
// x-accepted describes valid values in words. The format moment is a time or an
// offset from now; span is a duration.
//
//go:embed fixture.schema.json
var FixtureSchema []byte

// PluginSchema is the JSON Schema (2020-12) of a rate-limit plugin configuration. Its
// keyword x-accepted describes valid values in words. The format window is a number
// followed by ms, s, m, h or d.
//
//go:embed plugin.schema.json
var PluginSchema []byte

// TargetSchema is the JSON Schema (2020-12) of a target file. Its keyword x-accepted
// describes valid values in words.
//
//go:embed target.schema.json
var TargetSchema []byte

// StubsSchema returns the JSON Schema (2020-12) of a file of stubs, which is a list
// of stubs as in a fixture file. It is extracted from the schema of fixture files.
func StubsSchema() ([]byte, error) {
	var fixture struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(FixtureSchema, &fixture); err != nil {
		return nil, fmt.Errorf("schema of stubs: %w", err)
	}
	defs := map[string]json.RawMessage{}
	for missing := []string{"stub"}; len(missing) > 0; missing = missing[1:] {
		name := missing[0]
		if defs[name] != nil {
			continue
		}
		defs[name] = fixture.Defs[name]
		for rest := range strings.SplitSeq(string(defs[name]), `"#/$defs/`) {
			if ref, _, ok := strings.Cut(rest, `"`); ok && fixture.Defs[ref] != nil {
				missing = append(missing, ref)
			}
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Stubs",
		"description": "What deliveries get instead of the network, for `understudy ctl stub --file` and PUT /_understudy/stubs. The first stub that matches answers",
		"type":        "array",
		"x-accepted":  "a list of stubs, such as - url: https://app.test/*",
		"items":       map[string]string{"$ref": "#/$defs/stub"},
		"$defs":       defs,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema of stubs: %w", err)
	}
	return append(text, '\n'), nil
}
