// Package codec writes and reads values as JSON by their types. There are two kinds of text:
//
//	codec.RecordOf(t).Encode(&command) // the body of a record in a journal
//
//	c := codec.NewWriter(file) // a document, as a stream
//	c.Document(func(c *codec.Codec) {
//		codec.Member(c, "version", &version)
//		codec.Section(c, "messages", messages, nil)
//	})
//
// A struct is an object with its exported fields. Durations are text as in Go, such as 1m30s;
// text and bytes that are not UTF-8 are {"base64": "..."}; times are Unix ms. The same functions
// write and read. The form of a type is made once, at its first use.
//
// A record has the names of the fields, and leaves out zero values. A field with the tag
// `journal:"-"` is left out, because replay computes it from the others.
//
// A document has names such as callerIp for the field CallerIP, the fields of embedded structs
// as its own members, and leaves out empty values. The tag `saved` says what is different:
//
//	`saved:"no"`           left out, because reading computes it
//	`saved:"apart"`        left out, because another part of the document has it
//	`saved:"name"`         another name
//	`saved:"name,ms"`      a number that is a time in Unix ms; minutes: in minutes since 1970
//	`saved:",after=name"`  another place than that of the field
//	`saved:"name+name"`    two members, see parted
//
// Lists of any length are sections: entries are written or read one at a time, and only the
// current one is in memory. Members may come in any order, each once. An unknown member is
// an error that names its place.
package codec
