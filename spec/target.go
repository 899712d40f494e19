package spec

import _ "embed" // the schema

// TargetSchema is the JSON Schema (2020-12) of a target file. Its keyword x-accepted
// describes valid values in words.
//
//go:embed target.schema.json
var TargetSchema []byte
