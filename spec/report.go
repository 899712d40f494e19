package spec

import _ "embed" // the schema

// ReportSchema is the JSON Schema (2020-12) of a report of the contract test suite in the
// format json.
//
//go:embed report.schema.json
var ReportSchema []byte
