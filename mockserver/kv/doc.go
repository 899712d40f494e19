// Package kv is the key-value REST interface that the rate-limit plugin and
// the public clients of such a service keep their counters in.
//
//	store, err := kv.New(kv.Config{Token: "secret"})
//	http.Handle("/kv/", http.StripPrefix("/kv", store))
//
// # A request
//
//	ServeHTTP ── token ── command.go: JSON, path or list ── permission.go
//	                                                            │
//	   reply.go: JSON, base64 or RESP2 ◄── embedded.go or remote.go
//
// Without Config.URL the data lives in an embedded miniredis that no socket
// leads to and whose time is Config.Now: a key expires when that clock says so.
// With a redis:// URL they live in a real server, which keeps its own time.
//
// Header names are the neutral ones (Svc-Encoding, Svc-Response-Format,
// Svc-Sync-Token); the dialect renames them at the edge of the stand-in.
//
// It serves one owner: an account is a KV of its own. It does not do what needs
// a connection (SELECT, SUBSCRIBE, BLPOP, WATCH), and it keeps nothing on disk.
//
// # Commands of the embedded store
//
// What miniredis lacks of the commands of published clients is composed of what
// it has (composed.go, geo.go, stream.go, bitfield.go). A JSON document is a
// string that holds it; paths are JSONPath (document.go). Arrays (AR*), search,
// vectors in keys and functions are not there.
//
// # Bounds of the embedded store
//
// No command ends the process or occupies it for ever. A key has at most 32 KB,
// a value with all its elements 100 MB, a request 10 MB (the limits that the
// service publishes), all data together 256 MB, the replies to one request
// 32 MB. A script runs at most 5 s and 50 million instructions; the heap may
// grow by 256 MB meanwhile, and one text that it makes has at most 16 MB. A
// pattern that may backtrack too often is refused. Scripts reach no files. A
// document has at most 1 MB and 128 levels, and a path matches 100,000 values.
package kv
