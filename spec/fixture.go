package spec

import _ "embed" // the schema

// FixtureSchema is the JSON Schema (2020-12) of a fixture file. Its keyword
// x-accepted describes valid values in words. The format moment is a time or an
// offset from now; span is a duration.
//
//go:embed fixture.schema.json
var FixtureSchema []byte
