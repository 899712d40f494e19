// Package header contains the names of the interface's headers as constants,
// generated from the document, in their neutral form and as keys of an http.Header:
//
//	r.Header.Set(header.Retries, "0") // Svc-Retries
//
// The package imports nothing of this repository. spec.Dialect converts the names to
// those of a brand.
package header

import "strings"

// Query is the query parameter that is equivalent to a header.
func Query(name string) string { return strings.ToLower(name) }
