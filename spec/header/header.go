// Package header has the names of the interface's headers as constants,
// generated from the document, in their neutral form and as keys of an
// http.Header:
//
//	r.Header.Set(header.Retries, "0") // Svc-Retries
//
// The package imports nothing of ours. What a brand calls them is for
// spec.Dialect.
package header

import "strings"

// Query is the name of the query parameter that stands for a header.
func Query(name string) string { return strings.ToLower(name) }
