// Package docs embeds the documentation, so that a server shows it offline: see package
// mockserver/help. README.md is the first page; it links to all others.
package docs

import "embed"

// Files are the pages and their pictures.
//
//go:embed *.md *.png *.svg
var Files embed.FS
