// Package codec writes a JSON document as a stream and reads it again. What
// belongs to a record is said once, by a function that names its members:
//
//	func (p *point) members(c *codec.Codec) {
//		codec.Text(c, "name", &p.Name)
//		codec.Int(c, "x", &p.X)
//	}
//
// The same function writes and reads, so a file depends on no name of a Go
// field. Zero values are left out. Times are Unix ms, durations Go's text such
// as 1m30s; texts and bytes that are not UTF-8 are {"base64": "..."}.
//
// Lists of any length are sections: one entry after the other is written or
// read, and nothing else is kept. Members may come in any order, each once; an
// unknown one is an error, which names its place. A name that begins with a
// capital letter matches whatever its case: the first version of snapshots
// had such names.
package codec
