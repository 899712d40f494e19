// Package features holds the scenarios of the contract test suite, one file per
// area of the interface. They are run by package conformance.
package features

import "embed"

// FS holds the .feature files.
//
//go:embed *.feature
var FS embed.FS
