// Package docs embeds the documentation, so that a server shows it offline: see package
// mockserver/help. README.md is the first page; it links to all others. The server leaves
// folders out of the names of pages, so the names of files are unique.
package docs

import "embed"

// Files are the pages, their pictures, and the list of pages for coding agents.
//
//go:embed *.md *.png llms.txt conformance contributing reference
var Files embed.FS
