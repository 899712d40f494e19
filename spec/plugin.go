package spec

import _ "embed" // the schema

// PluginSchema is the JSON Schema (2020-12) of a rate-limit plugin configuration. Its
// keyword x-accepted describes valid values in words. The format window is a number
// followed by ms, s, m, h or d.
//
//go:embed plugin.schema.json
var PluginSchema []byte
