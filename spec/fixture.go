package spec

import _ "embed" // the schema

// FixtureSchema is the JSON Schema (2020-12) of a fixture file. Its keyword
// x-accepted says in words what a key accepts; the format moment is a time or a
// distance from now, span a duration.
//
//go:embed fixture.schema.json
var FixtureSchema []byte
