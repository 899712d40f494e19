// Package replay reads journals outside of the server that has written them: it exports
// them as files, and restores the state at any record.
//
//	err := replay.Write(ctx, file, replay.Config{Bodies: true}, each)        // the file of ctl journal export
//	from, err := replay.OpenFile(name)                                       // a read-only store.Store
//	walk := replay.NewWalk()                                                 // for the slider of the page
//
// # The file
//
// A file has one JSON document per line: a header; for each account a line that describes
// it, its snapshot if it has one, and its records; and an end line with a checksum of all
// lines before it. docs/reference/versions.md describes the members.
//
// The package does not open data folders: its callers pass a store for them.
package replay
