// Package codec writes and reads a JSON document as a stream. One function per record lists
// its members:
//
//	func (p *point) members(c *codec.Codec) {
//		codec.Text(c, "name", &p.Name)
//		codec.Int(c, "x", &p.X)
//	}
//
// The same function writes and reads, so a file does not depend on the names of Go fields.
// Zero values are left out. Times are Unix ms, durations are text as in Go, such as 1m30s;
// text and bytes that are not UTF-8 are {"base64": "..."}.
//
// Lists of any length are sections: entries are written or read one at a time, and only the
// current one is in memory. Members may come in any order, each once. An unknown member is
// an error that names its place. In a document, a name that begins with a capital letter
// matches in any case, because the first version of snapshots had such names.
package codec
